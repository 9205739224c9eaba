"""The review queue: proposals, contested memories and found secrets, each decided with one verb."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.memory_policy import may_read_memory
from auth.policy import ADMINS, may_read
from auth.principal import Principal
from auth.visibility import diary_key, memory_key, private_key, withheld_key
from stores.errors import Forbidden, NotFound, ValidationFailed
from stores.ledger import CANDIDATE, AuditQuery, CaptureQuery, Transaction
from stores.records import RAW_MEMORY, Entity, JsonObject, RawMemory, source_ids
from tools.app import App
from tools.entities.change import DeleteEntityRequest, UpdateEntityRequest, erase, revise
from tools.frame.audit_entries import FOUND, KEPT, secrets_entries
from tools.frame.json_values import texts_in
from tools.frame.operation import Call, Filters, Request, Result, Route, entry, writing
from tools.frame.screening import Found, cleaned
from tools.governance.corrections import corrected_memory, refusal_of, store_correction
from tools.governance.lifecycle import CorrectionAction, CorrectionRequest, Lifecycle, erasure_of
from tools.memory.captures import settle_by_hand
from tools.records.entity_models import CONTENT_LIMIT, EntityId
from tools.records.trust import scope_of_words
from tools.reflecting.promotion import promote_candidate
from tools.reflecting.promotion_policy import EditedRequest
from tools.text.credentials import redacted

ItemKind = Literal["candidate", "contested", "secret"]
Verb = Literal["approve", "reject", "edit"]
SHOWN_CHARACTERS = 2_000
LATEST = 1_000  # entries of each log that are looked through


FoundSecret = tuple[Entity, Sequence[str]]
"""A record, and `<kind> in <field>` for each credential, never the words."""


class ListReviewRequest(Filters):
    """Filters of the review queue."""

    kind: ItemKind | None = Field(
        None,
        description="`candidate`: a proposal of reflection. `contested`: a memory that was marked as wrong or old. "
        "`secret`: a record that holds what looks like a credential.",
    )
    limit: int = Field(50, ge=1, le=200, description="Most items of each kind.")


class ReviewItem(Result):
    """Something that waits for a decision."""

    id: str
    kind: ItemKind
    title: str
    content: str = Field(description=f"The first {SHOWN_CHARACTERS} characters, without credentials.")
    reason: str | None = Field(
        description="Why it waits: the correction and its reason, the kind of the proposal, or the kinds and places of "
        "credentials."
    )
    memory_scope: str
    scope_key: str | None
    principal_id: str
    created_at: datetime


class ReviewQueue(Result):
    """Items, the latest first; owners and admins see those of others, too."""

    items: list[ReviewItem]
    total: int


class DecideRequest(Request):
    """A decision.

    `approve` makes a record of a proposal, restores a contested memory, keeps a secret. `reject` archives a proposal
    for good, and erases the others. `edit` approves other words.
    """

    item_id: EntityId = Field(description="The item's id.")
    verb: Verb = Field(description="The decision.")
    content: Annotated[str, StringConstraints(pattern=r"\S", max_length=CONTENT_LIMIT)] | None = Field(
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


_PATH = "/api/memory/review"


@entry(Route("GET", _PATH, tag="memory"))
def list_review(app: App, call: Call, request: ListReviewRequest) -> ReviewQueue:
    """List what waits for a decision: proposals, memories that were marked as wrong or old, and found credentials."""
    caller, items, total = call.caller, list[ReviewItem](), 0
    mine = {memory_key(private_key(caller.user_id)), diary_key(caller.user_id)}
    keys = caller.memories if caller.role in ADMINS else caller.memories & mine
    wanted: dict[ItemKind, CaptureQuery] = {
        "candidate": CaptureQuery(caller.captures, frozenset(), CANDIDATE, review_state="pending", limit=request.limit),
        "contested": CaptureQuery(
            frozenset(map(withheld_key, keys)), frozenset(), is_contested=True, limit=request.limit
        ),
    }
    for kind, query in wanted.items():
        if request.kind in (None, kind):
            listed, found = app.ledger.memories.list_captures(caller.organization_id, query)
            items += [_item(kind, each.memory) for each in listed]
            total += found
    if request.kind in (None, "secret"):
        secrets = [
            ReviewItem.of(
                record, kind="secret", title="", content="", reason="; ".join(places), created_at=record.updated_at
            )
            for record, places in found_secrets(app, caller).values()
        ]
        items += sorted(secrets, key=attrgetter("created_at"), reverse=True)[: request.limit]
        total += len(secrets)
    return ReviewQueue(items=sorted(items, key=attrgetter("created_at"), reverse=True), total=total)


def _item(kind: ItemKind, memory: RawMemory) -> ReviewItem:
    proposed = (memory.capture.candidate or {}).get("kind")
    reason = proposed if isinstance(proposed, str) else None
    for last in Lifecycle.of(memory).steps[-1:]:
        reason = last.action if last.reason is None else f"{last.action}: {redacted(last.reason)[0]}"
    title, content = (redacted(each)[0] for each in (memory.entity.name, memory.entity.content))
    return ReviewItem.of(
        memory.entity, kind=kind, title=title, content=content[:SHOWN_CHARACTERS], reason=reason,
        created_at=memory.entity.updated_at,
    )  # fmt: skip


@writing(
    Route("POST", _PATH + "/{item_id}", tag="memory", errors=(404, 409)),
    "raw_capture_changed",
    "entity_created",
    "entity_updated",
    "entity_deleted",
)
def decide_review(app: App, call: Call, request: DecideRequest) -> Decided:
    """Decide on an item of the review queue: `approve`, `reject`, or `edit` with the words that hold."""
    if (request.verb == "edit") is (request.content is None):
        raise ValidationFailed(
            "`content` goes with `edit`: the words that hold.", details={"field": "body.content", "expected": "words"}
        )
    caller = call.caller
    memory = app.ledger.memories.memory(caller.organization_id, request.item_id)
    is_readable = memory is not None and may_read_memory(caller, memory.entity.visibility)
    if memory is None or not is_readable or memory.capture.candidate is None:
        refusal = _decide(app, call, request)
        return Decided.of(request, applied=refusal is None, reason=refusal or f"{request.verb}_applied")
    if request.verb != "reject":
        done = promote_candidate(app, call, EditedRequest(candidate_id=request.item_id, content=request.content))
        return Decided.of(request, applied=done.success, reason=done.reason, entity_id=done.promoted_id)
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        entity = settle_by_hand(app, call, tx, request.item_id, "archived").entity
        tx.rejections.reject(scope_of_words(entity, entity.principal_id), [entity.content], entity.id)
    return Decided.of(request, applied=True, reason="rejected")


def _decide(app: App, call: Call, request: DecideRequest) -> str | None:
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        # Read inside the transaction, so that no other decision comes between.
        secret = found_secrets(app, caller).get(request.item_id)
        if secret is not None and request.verb == "approve":
            made = tx.memories.made_of([request.item_id])
            kept = [secret[0], *(each for each in made if may_read(caller, each.visibility))]
            for entry in secrets_entries(app.accounts.home_of(caller.user_id), call, {}, kept, KEPT):
                tx.audit(entry)
            return None
        if secret is not None:
            action: CorrectionAction = "delete" if request.content is None else "revise"
            return replace_secret(app, call, tx, secret, _correction(request, action, request.content))
        memory = None
        with suppress(NotFound, Forbidden):
            memory = corrected_memory(tx, caller, request.item_id)
        if memory is None or Lifecycle.of(memory).state != "contested":
            raise NotFound("Nothing with this id waits for a review.", remediation="See GET /api/memory/review.")
        return _correct(app, call, tx, memory, request)


def _correct(app: App, call: Call, tx: Transaction, memory: RawMemory, request: DecideRequest) -> str | None:
    if request.verb == "reject":
        return store_correction(app, call, tx, _correction(request, "delete")).refusal
    words = request.content or memory.entity.content
    revise = _correction(request, "revise", words)
    if request.content and refusal_of(tx, call.caller, memory, revise) not in (None, "unchanged_revised_content"):
        return store_correction(app, call, tx, revise).refusal
    done = store_correction(app, call, tx, _correction(request, "restore"))
    # A restoration undoes revisions, too, but the words that were shown are those that are approved.
    if done.refusal is None and done.after is not None and done.after.entity.content != words:
        store_correction(app, call, tx, revise)
    return done.refusal


def _correction(request: DecideRequest, action: CorrectionAction, words: str | None = None) -> CorrectionRequest:
    return CorrectionRequest(source_id=request.item_id, action=action, reason=request.reason, revised_content=words)


def found_secrets(app: App, caller: Principal) -> dict[str, FoundSecret]:
    """Return those that the caller wrote, for admins all that they may read."""
    organization, ids = caller.organization_id, _named(app, caller)
    memories = app.ledger.memories.by_ids(organization, ids)
    found: dict[str, FoundSecret] = {}
    for record in app.ledger.records.entities(organization, ids).values():
        memory = memories.get(record.id)
        is_candidate = memory is not None and memory.capture.candidate is not None
        is_shown = (may_read if memory is None else may_read_memory)(caller, record.visibility)
        if is_shown and not is_candidate and (places := _places(record, memory)):
            found[record.id] = record, places
    # Records made of a waiting memory follow its decision.
    return {id_: each for id_, each in found.items() if found.keys().isdisjoint(source_ids(each[0]))}


def _named(app: App, caller: Principal) -> set[str]:
    ids: set[str] = set()
    for log in {app.accounts.home_of(caller.user_id), caller.organization_id}:
        kept: set[str] = set()
        for each in app.ledger.audit.entries(AuditQuery(log, action="memory.secret.", limit=LATEST)):
            named = texts_in(each.draft.details.get("source_ids"))
            if each.draft.action == KEPT:
                kept.update(named)
            elif each.draft.action == FOUND and (caller.role in ADMINS or each.draft.actor_id == caller.user_id):
                ids |= set(named) - kept
    return ids


def _places(record: Entity, memory: RawMemory | None) -> list[str]:
    texts: JsonObject = {name: getattr(record, name) for name in ("name", "description", "content", "metadata")}
    texts |= {"tags": [*record.tags], "provenance": memory.capture.provenance if memory else {}}
    found = Found()
    cleaned(texts, found)
    return [f"{' and '.join(dict.fromkeys(kinds))} in {place}" for place, kinds in found]


def replace_secret(app: App, call: Call, tx: Transaction, found: FoundSecret, request: CorrectionRequest) -> str | None:
    """Delete such a record, or give it other words; return why that is refused, if it is."""
    record, _ = found
    changed = [record.id]
    if record.entity_type == RAW_MEMORY:
        done = store_correction(app, call, tx, request)
        if done.refusal is not None:
            return done.refusal
        changed += [each.before.id for each in done.effects]
    elif request.revised_content is None:
        erase(app, call, tx, DeleteEntityRequest(entity_id=record.id))
    else:
        revise(call, tx, UpdateEntityRequest(entity_id=record.id, content=request.revised_content))
    for each in changed:
        tx.records.erase_past(each)
    tx.jobs.enqueue(erasure_of(record))
    return None
