"""The review queue: proposals of reflection and contested memories, each decided with one verb."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.policy import ADMINS
from auth.principal import Principal
from auth.visibility import withheld_key
from stores.errors import Conflict, Forbidden, NotFound, ValidationFailed
from stores.ledger import CANDIDATE, CaptureQuery
from stores.records import RAW_MEMORY, RawMemory
from tools.app import App
from tools.frame.operation import WRITERS, Call, Filters, Operation, Request, Result, Route, mutation
from tools.governance.correction_models import CorrectionRequest
from tools.governance.corrections import store_correction
from tools.governance.lifecycle import CorrectionAction, Lifecycle
from tools.memory.captures import present_capture, require_reviewer, settle
from tools.memory.spaces import INSUFFICIENT
from tools.records.entity_models import CONTENT_LIMIT, EntityId
from tools.records.rejected import scope_of_words
from tools.reflecting.promotion import promote_candidate
from tools.reflecting.promotion_policy import PromoteRequest
from tools.runtime.threads import in_thread

ItemKind = Literal["candidate", "contested"]
Verb = Literal["approve", "reject", "edit"]
SHOWN_CHARACTERS = 2_000
ACTIONS: Mapping[Verb, Sequence[CorrectionAction]] = {
    "approve": ("restore",), "reject": ("delete",), "edit": ("restore", "revise"),
}  # fmt: skip
"""Corrections of a contested memory."""


class ListReviewRequest(Filters):
    """Select what waits for a decision."""

    kind: ItemKind | None = Field(
        None,
        description="`candidate`: a proposal of reflection. `contested`: a memory that was marked as wrong or old.",
    )
    limit: int = Field(50, ge=1, le=200, description="Most items of each kind.")


class ReviewItem(Result):
    """Something that waits for a decision."""

    id: str
    kind: ItemKind
    title: str
    content: str = Field(description=f"The first {SHOWN_CHARACTERS} characters.")
    reason: str | None = Field(description="Why it waits: the correction and its reason, or the kind of the proposal.")
    memory_scope: str
    scope_key: str | None
    principal_id: str
    created_at: datetime


class ReviewQueue(Result):
    """Items that wait for a decision, the latest first. Contested memories are shown to owners and admins."""

    items: list[ReviewItem]
    total: int


class DecideRequest(Request):
    """A decision.

    `approve` makes a record of a proposal, and brings a contested memory back. `reject` archives a proposal, whose
    words are not proposed again, and erases a contested memory. `edit` approves other words.
    """

    item_id: EntityId = Field(description="The item's id.")
    verb: Verb = Field(description="The decision.")
    content: Annotated[str, StringConstraints(min_length=1, max_length=CONTENT_LIMIT)] | None = Field(
        None, description="For `edit`: the words that hold."
    )
    reason: Annotated[str, StringConstraints(max_length=2000)] | None = Field(None, description="Why; it is kept.")


class Decided(Result):
    """Outcome of a decision."""

    applied: bool
    item_id: str
    verb: Verb
    reason: str
    entity_id: str | None = Field(None, description="The record that was made of a proposal.")


async def list_review(app: App, call: Call, request: ListReviewRequest) -> ReviewQueue:
    """List what waits for a decision: proposals of reflection, and memories that were marked as wrong or old."""
    return await in_thread(_queue, app, call.caller, request)


def _queue(app: App, caller: Principal, request: ListReviewRequest) -> ReviewQueue:
    items, total = [], 0
    wanted: dict[ItemKind, CaptureQuery] = {
        "candidate": CaptureQuery(caller.captures, frozenset(), CANDIDATE, review_state="pending", limit=request.limit)
    }
    if caller.role in ADMINS:
        withheld = frozenset(map(withheld_key, caller.memories))
        wanted["contested"] = CaptureQuery(withheld, frozenset(), RAW_MEMORY, limit=request.limit)
    for kind, query in wanted.items():
        if request.kind in (None, kind):
            listed, found = app.ledger.memories.list_captures(caller.organization_id, query)
            items += [_item(kind, each.memory) for each in listed]
            total += found
    return ReviewQueue(items=sorted(items, key=lambda each: each.created_at, reverse=True), total=total)


def _item(kind: ItemKind, memory: RawMemory) -> ReviewItem:
    last, proposed = Lifecycle.of(memory).last, (memory.capture.candidate or {}).get("kind")
    reason = proposed if isinstance(proposed, str) else None
    if last is not None:
        reason = last.action if last.reason is None else f"{last.action}: {last.reason}"
    return ReviewItem.of(
        memory.entity, kind=kind, title=memory.entity.name, content=memory.entity.content[:SHOWN_CHARACTERS],
        reason=reason, created_at=memory.entity.updated_at,
    )  # fmt: skip


async def decide_review(app: App, call: Call, request: DecideRequest) -> Decided:
    """Decide on an item of the review queue: `approve`, `reject`, or `edit` with the words that hold."""
    if (request.verb == "edit") is (request.content is None):
        raise ValidationFailed(
            "`content` goes with `edit`: the words that hold.", details={"field": "body.content", "expected": "words"}
        )
    memory = await in_thread(app.ledger.memories.memory, call.caller.organization_id, request.item_id)
    if memory is not None and memory.capture.candidate is not None:
        return await _decide_candidate(app, call, request)
    if memory is None or Lifecycle.of(memory).is_recallable:
        raise NotFound(
            "Nothing with this id waits for a review.", remediation="List the queue: GET /api/memory/review."
        )
    if call.caller.role not in ADMINS:
        raise Forbidden("Deciding on contested memories needs the role owner or admin.", code=INSUFFICIENT)
    refusal = await in_thread(_correct, app, call, request)
    return Decided(
        applied=refusal is None, item_id=request.item_id, verb=request.verb, reason=refusal or f"{request.verb}_applied"
    )


def _correct(app: App, call: Call, request: DecideRequest) -> str | None:
    caller, done = call.caller, None
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        for action in ACTIONS[request.verb]:
            correction = CorrectionRequest(
                source_id=request.item_id,
                action=action,
                reason=request.reason,
                revised_content=request.content if action == "revise" else None,
            )
            done = store_correction(app, call, tx, correction)
    return None if done is None else done.refusal


async def _decide_candidate(app: App, call: Call, request: DecideRequest) -> Decided:
    if request.verb == "reject":
        await in_thread(_reject, app, call, request)
        return Decided(applied=True, item_id=request.item_id, verb=request.verb, reason="rejected")
    if request.content is not None:
        await in_thread(_rewrite, app, call, request)
    done = await promote_candidate(app, call, PromoteRequest(candidate_id=request.item_id))
    return Decided(
        applied=done.success, item_id=request.item_id, verb=request.verb, reason=done.reason, entity_id=done.promoted_id
    )


def _reject(app: App, call: Call, request: DecideRequest) -> None:
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        memory = present_capture(tx, caller, request.item_id)
        require_reviewer(caller, memory)
        settle(tx, memory, "archived")
        tx.rejections.reject(
            scope_of_words(memory.entity, memory.entity.principal_id), [memory.entity.content], memory.entity.id
        )


def _rewrite(app: App, call: Call, request: DecideRequest) -> None:
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id) as tx:
        memory = present_capture(tx, caller, request.item_id)
        require_reviewer(caller, memory)
        if memory.capture.review_state not in ("pending", "deferred"):
            raise Conflict(f"This proposal is {memory.capture.review_state}.", remediation="Change the record itself.")
        said = {**(memory.capture.candidate or {}), "content": request.content}
        tx.memories.settle_memory(memory.entity.id, review_state=memory.capture.review_state, candidate=said)


_PATH = "/api/memory/review"

OPERATIONS = (
    Operation(list_review, route=Route("GET", _PATH, tag="memory")),
    mutation(
        decide_review,
        Route("POST", _PATH + "/{item_id}", tag="memory", errors=(404, 409)),
        roles=WRITERS,
        events=("raw_capture_changed", "entity_created", "entity_updated", "entity_deleted"),
    ),
)
