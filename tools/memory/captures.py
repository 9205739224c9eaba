"""Captures: raw memories for review by a person, each with its outcome."""

from collections.abc import Iterable
from typing import Literal, cast

from pydantic import Field, JsonValue

from auth.memory_policy import READ_REASONS, may_change_memory, may_read_memory, require_erasable_memory
from auth.policy import MemoryScope
from auth.principal import Principal
from stores.errors import Conflict, Forbidden, NotFound
from stores.ledger import CANDIDATE, CaptureQuery, ListedCapture, Transaction
from stores.records import RAW_MEMORY, JsonObject, RawMemory, ReviewState
from tools.app import App
from tools.entities.entities import entities_made
from tools.frame.audit_entries import DELETE, REVIEW, remember_entry
from tools.frame.json_values import texts_in
from tools.frame.operation import Call, Filters, Nothing, Request, Result, Route, entry, writing
from tools.records.derivation import erase_made
from tools.records.entity_models import EntityId, Wanted
from tools.records.memory_models import RawMemoryView, memory_fields
from tools.records.receipts import capture_receipt

SETTLED: tuple[ReviewState, ...] = ("promoted", "archived")
_CLAIMS, _OTHERS = "claim_records", ("reflection_findings", "relationship_records")
_ID_KEYS = (
    "target_source_id", "related_source_ids", "target_id", "supports_source_ids", "contradicts_source_ids",
    "supersedes_source_ids", "superseded_by_source_id",
)  # fmt: skip


class ListCapturesRequest(Filters):
    """Select captures."""

    entity_type: Wanted | None = Field(
        None,
        description=f"`{RAW_MEMORY}` without a derived record, `{CANDIDATE}`, or the entity's type; empty for all.",
    )
    capture_surface: Wanted | None = Field(None, description="Only captures of this client; empty for all.")
    review_state: Literal[ReviewState, ""] | None = Field(None, description="Only this state; empty for all.")
    limit: int = Field(50, ge=1, le=200, description="Most captures.")
    offset: int = Field(0, ge=0, le=1_000_000, description="Captures to skip.")


class CaptureView(RawMemoryView):
    """Raw memory with its review state and derived record."""

    entity_type: str = Field(description=f"`{RAW_MEMORY}`, `{CANDIDATE}`, or the type of the derived entity.")
    capture_mode: str | None = Field(None, description="Capture mode that the client gave: `quick`, …")
    candidate: JsonObject | None = Field(None, description="Proposal of the reflection, for a candidate.")


class CapturesView(Result):
    """One page of captures, the latest first."""

    captures: list[CaptureView]
    total: int
    limit: int
    offset: int
    has_more: bool


class CaptureRequest(Request):
    """One capture."""

    capture_id: EntityId = Field(description="The raw memory's id.")


@entry(Route("GET", "/api/entities/captures", tag="memory"))
def list_captures(app: App, call: Call, request: ListCapturesRequest) -> CapturesView:
    """List the raw memories that the caller may read, diaries and candidates included, the latest first."""
    caller = call.caller
    query = CaptureQuery(caller.captures, caller.visible, **request.model_dump())
    listed, total = app.ledger.memories.list_captures(caller.organization_id, query)
    has_more = request.offset + request.limit < total
    return CapturesView.of(request, captures=_views(app, caller, listed), total=total, has_more=has_more)


_ROUTE = "/api/entities/captures/{capture_id}"


@entry(Route("GET", _ROUTE, tag="memory", errors=(404,)))
def get_capture(app: App, call: Call, request: CaptureRequest) -> CaptureView:
    """Read one whole raw memory, with its review state."""
    return _read(app, call.caller, request.capture_id)


class ReviewCaptureRequest(CaptureRequest):
    """Decide on a capture."""

    review_state: ReviewState = Field(description="The new state.")


@writing(Route("PATCH", _ROUTE, tag="memory", errors=(404, 409)), "raw_capture_changed")
def review_capture(app: App, call: Call, request: ReviewCaptureRequest) -> CaptureView:
    """Review a raw memory: pending ones are promoted, archived or deferred; deferred ones go anywhere."""
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        settle_by_hand(app, call, tx, request.capture_id, request.review_state)
    view = _read(app, caller, request.capture_id)
    return view.model_copy(update={"mutation_receipt": capture_receipt(app, call, [request.capture_id])})


@writing(Route("DELETE", _ROUTE, status=204, tag="memory", errors=(404, 409)), "raw_capture_changed")
def erase_capture(app: App, call: Call, request: CaptureRequest) -> Nothing:
    """Erase a raw memory for good: an entity made of it stays, an experience goes. Its author and admins may."""
    caller = call.caller
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        memory = _readable(caller, request.capture_id, tx.memories.memory(request.capture_id))
        require_erasable_memory(caller, memory.entity)
        erase_made(tx, memory.entity)
        tx.audit(remember_entry(app.accounts.home_of(caller.user_id), call, memory, action=DELETE))
        tx.records.delete_entity(memory.entity.id)
    return Nothing()


def _readable(caller: Principal, capture_id: str, memory: RawMemory | None) -> RawMemory:
    if memory is None or not may_read_memory(caller, memory.entity.visibility):
        remediation = "List yours with GET /api/entities/captures."
        raise NotFound(f"There is no raw memory {capture_id}.", remediation=remediation)
    return memory


def settle_by_hand(app: App, call: Call, tx: Transaction, capture_id: str, state: ReviewState) -> RawMemory:
    """Settle a raw memory as the caller says, with an entry in the audit log."""
    caller = call.caller
    memory = _readable(caller, capture_id, tx.memories.memory(capture_id))
    if not may_change_memory(caller, memory.entity):
        raise Forbidden(
            "You may read this memory but not review it.",
            remediation="Ask a maintainer of the project to make you a contributor.",
        )
    settle(tx, memory, state)
    tx.audit(remember_entry(app.accounts.home_of(caller.user_id), call, memory, action=REVIEW))
    return memory


def settle(tx: Transaction, memory: RawMemory, state: ReviewState) -> RawMemory:
    """Move a raw memory to a state of its review; saying the same again changes nothing."""
    before = memory.capture
    if before.review_state == state:
        return memory
    if before.review_state in SETTLED:
        raise Conflict(
            f"This memory is {before.review_state}, which no review changes any more.",
            remediation="Keep it, or store the new text as a new memory.",
            details={"actual": before.review_state, "expected": "pending or deferred"},
        )
    return tx.memories.settle_memory(memory.entity.id, review_state=state)


def _read(app: App, caller: Principal, capture_id: str) -> CaptureView:
    memory = _readable(caller, capture_id, app.ledger.memories.memory(caller.organization_id, capture_id))
    made = entities_made(app, caller, [memory]).get(capture_id)
    entity = None if made is None else app.ledger.records.entity(caller.organization_id, made)
    kind = RAW_MEMORY if memory.capture.candidate is None else CANDIDATE
    (view,) = _views(app, caller, [ListedCapture(memory, kind if entity is None else entity.entity_type)])
    return view


def _views(app: App, caller: Principal, listed: list[ListedCapture]) -> list[CaptureView]:
    memories = [each.memory for each in listed]
    made, said, views = entities_made(app, caller, memories), proposals(app, caller, memories), list[CaptureView]()
    for each in listed:
        entity = each.memory.entity
        mode = entity.metadata.get("capture_mode")
        fields = memory_fields(each.memory, policy_reason=READ_REASONS[cast("MemoryScope", entity.memory_scope)]) | {
            "entity_type": each.entity_type,
            "entity_id": made.get(entity.id),
            "capture_mode": mode if isinstance(mode, str) else None,
            "candidate": said.get(entity.id),
        }
        views.append(CaptureView.model_validate(fields))
    return views


def proposals(app: App, caller: Principal, memories: Iterable[RawMemory]) -> dict[str, JsonObject]:
    """Return the candidates among some raw memories, by id, as the caller may see them. Blocks."""
    stored = {each.entity.id: each.capture.candidate for each in memories if each.capture.candidate is not None}
    items = (item for each in stored.values() for part in (_CLAIMS, *_OTHERS) for item in _items(each, part))
    named = {each for item in items for each in _ids(item)}
    there = app.ledger.records.statuses(caller.organization_id, named, visibility=caller.visible) if named else {}
    shown = {each for each, status in there.items() if status.visibility in caller.readable}
    return {memory_id: _without(candidate, named - shown) for memory_id, candidate in stored.items()}


def _ids(item: JsonObject) -> set[str]:
    values = (item.get(key) for key in _ID_KEYS)
    return {each for value in values for each in texts_in(value if isinstance(value, list) else [value])}


def _without(candidate: JsonObject, hidden: set[str]) -> JsonObject:
    if not hidden:
        return candidate
    kept: JsonObject = {
        part: [item for item in _items(candidate, part) if hidden.isdisjoint(_ids(item))] for part in _OTHERS
    }
    claims: list[JsonValue] = [
        claim | {key: _shown(claim[key], hidden) for key in _ID_KEYS if key in claim}
        for claim in _items(candidate, _CLAIMS)
    ]
    return {**candidate, **kept, _CLAIMS: claims}


def _shown(named: JsonValue, hidden: set[str]) -> JsonValue:
    if isinstance(named, list):
        return [each for each in texts_in(named) if each not in hidden]
    return None if isinstance(named, str) and named in hidden else named


def _items(candidate: JsonObject, key: str) -> list[JsonObject]:
    values = candidate.get(key)
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []
