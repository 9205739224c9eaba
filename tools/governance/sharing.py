"""Sharing: copies of raw memories for the readers of another scope, previewed first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from auth.memory_policy import COUNTED, WRITE_REASON, MemoryScopeRequest, may_read_memory, writable_memory
from auth.policy import ADMINS, MemoryDenied, MemoryScope, Visibility
from auth.principal import Principal
from stores.errors import Forbidden, InvalidRequest
from stores.ledger import Transaction
from stores.records import JsonObject, RawMemory
from tools.app import App
from tools.frame.audit_entries import memory_entry, policy_details
from tools.frame.operation import WRITERS, Call, Request, Result, Route, entry, writing
from tools.governance.lifecycle import Lifecycle
from tools.memory.memories import memory_draft
from tools.records.entity_models import EntityId, MutationReceipt
from tools.records.memory_models import RawMemoryFields
from tools.records.receipts import capture_receipt
from tools.records.trust import scope_of_words
from tools.reflecting.promotion_policy import InputScope

SURFACE = "share"
SOURCES = 100
PREVIEW, APPLY = "memory.share.preview", "memory.share.apply"
OTHER = "cross_organization_denied"


class ShareRequest(Request):
    """Raw memories, and the scope to share them with."""

    source_ids: Annotated[list[EntityId], Field(min_length=1, max_length=SOURCES)] = Field(
        description="Ids of raw memories that the caller may read."
    )
    target_scope: MemoryScope = Field(description="Readers after sharing.")
    target_scope_key: EntityId | None = Field(None, description="Which project, team or memory space.")
    recipient_organization_id: EntityId | None = Field(
        None,
        description="The organization that gets them, the caller's by default. Another one is refused unless "
        "ENGRAIN_SHARE_ACROSS_ORGANIZATIONS allows it and the caller may write there.",
    )
    project_id: EntityId | None = Field(None, description="The project that they are about.")


class SharePreview(Result):
    """Preview of sharing, and whether it is allowed."""

    allowed: bool
    reason: str = Field(description="`share_preview_allowed`, or the first refusal.")
    target_scope: MemoryScope
    target_scope_key: str | None
    source_ids: list[str]
    visible_source_ids: list[str] = Field(description="Those that would be shared.")
    denied_source_ids: list[str]
    missing_source_ids: list[str] = Field(description="Those that do not exist for the caller.")
    redacted_count: int
    hidden_but_relevant_count: int = Field(
        description="Named memories of projects, teams and shared spaces that the caller may not read."
    )
    policy_reasons: list[str]
    input_scopes: list[InputScope]
    metadata: JsonObject


class SharedMemory(Result):
    """One shared memory."""

    source_id: str
    promoted_id: str = Field(description="The copy in the target scope.")
    reason: str = Field(description="`shared`, or `already_shared` if the scope holds these words.")


class Shared(Result):
    """Outcome of sharing: all of the memories are shared, or none."""

    applied: bool
    reason: str
    target_scope: MemoryScope
    target_scope_key: str | None
    source_ids: list[str]
    promoted_ids: list[str]
    audit_event_ids: list[str]
    preview: SharePreview
    promotions: list[SharedMemory]
    mutation_receipt: MutationReceipt | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    request: ShareRequest
    preview: SharePreview
    recipient: Principal
    """The caller, in the organization that gets the copies."""
    is_away: bool
    place: Visibility | None
    sources: Sequence[RawMemory]
    denied: Sequence[RawMemory]
    """The readable ones."""
    denials: Mapping[str, str]


@entry(Route("POST", "/api/memory/share/preview", tag="memory", errors=(404,)), roles=WRITERS)
def preview_share(app: App, call: Call, request: ShareRequest) -> SharePreview:
    """List the raw memories that sharing would copy, their readers, and the obstacles. Nothing changes."""
    with app.ledger.transaction(call.caller.organization_id, call.caller.user_id) as tx:
        judged = _judged(app, tx, call.caller, request)
        _audit(app, call, tx, PREVIEW, judged, {})
    return judged.preview


@writing(Route("POST", "/api/memory/share", tag="memory", errors=(404, 409)), "raw_capture_changed")
def share_memories(app: App, call: Call, request: ShareRequest) -> Shared:
    """Share raw memories with the readers of another scope: each gets a copy there, or none does.

    Corrections reach copies. Authors share their own; owners and admins what they may read.
    """
    caller, promotions = call.caller, list[SharedMemory]()
    with app.ledger.transaction(caller.organization_id, caller.user_id, claim=call.claim) as tx:
        judged = _judged(app, tx, caller, request)
        if judged.place is not None and judged.preview.allowed:
            there = tx.in_organization(judged.recipient.organization_id)
            promotions = [_copied(there, judged.recipient, request, judged.place, each) for each in judged.sources]
        events = _audit(app, call, tx, APPLY, judged, {each.source_id: each.promoted_id for each in promotions})
    preview, promoted = judged.preview, [each.promoted_id for each in promotions]
    return Shared.of(
        preview,
        applied=preview.allowed,
        reason="shared" if preview.allowed else preview.reason,
        promoted_ids=promoted,
        audit_event_ids=events,
        preview=preview,
        promotions=promotions,
        # The caller reads copies elsewhere with the rights of that organization only.
        mutation_receipt=capture_receipt(app, call, [] if judged.is_away else promoted) if promoted else None,
    )


def _judged(app: App, tx: Transaction, caller: Principal, request: ShareRequest) -> _Judged:
    recipient, place, target_reason = _target(app, caller, request)
    there = tx.in_organization(recipient.organization_id)
    denials: dict[str, str] = {}
    missing, sources, denied, hidden = [], [], [], 0
    for source_id in dict.fromkeys(request.source_ids):
        memory = tx.memories.memory(source_id)
        if memory is None or not may_read_memory(caller, memory.entity.visibility):
            hidden += memory is not None and memory.entity.memory_scope in COUNTED
            missing.append(source_id)
            denials[source_id] = "source_not_found"
        elif reason := _denial(there, caller, memory, place):
            denied.append(memory)
            denials[source_id] = reason
        else:
            sources.append(memory)
    refusal = target_reason if place is None else next(iter(denials.values()), None)
    preview = SharePreview.of(
        request,
        allowed=refusal is None,
        reason=refusal or "share_preview_allowed",
        target_scope_key=place.scope_key if place is not None else request.target_scope_key,
        source_ids=list(dict.fromkeys(request.source_ids)),
        visible_source_ids=[each.entity.id for each in sources],
        denied_source_ids=[*denials],
        missing_source_ids=missing,
        redacted_count=0,
        hidden_but_relevant_count=hidden,
        policy_reasons=list(dict.fromkeys([target_reason, *denials.values()])),
        input_scopes=[InputScope.of(each.entity) for each in sources],
        metadata={
            "cross_organization": request.recipient_organization_id not in (None, caller.organization_id),
            "source_denial_reasons": dict(denials),
            "target_policy_reason": target_reason,
            "source_count": len(set(request.source_ids)),
            "visible_count": len(sources),
        },
    )
    is_away = recipient.organization_id != caller.organization_id
    return _Judged(request, preview, recipient, is_away, place, sources, denied, denials)


def _target(app: App, caller: Principal, request: ShareRequest) -> tuple[Principal, Visibility | None, str]:
    recipient: Principal | None = caller
    organization = request.recipient_organization_id or caller.organization_id
    if organization != caller.organization_id:
        # Keys and grants are for one organization.
        is_open = app.settings.share_across_organizations and not (caller.key_id or caller.grant_id)
        recipient = app.accounts.member(caller.user_id, organization) if is_open else None
    if recipient is None:
        return caller, None, OTHER
    try:
        wanted = MemoryScopeRequest(request.target_scope, request.target_scope_key, request.project_id)
        return recipient, writable_memory(recipient, wanted), WRITE_REASON
    except (MemoryDenied, Forbidden, InvalidRequest) as error:
        return recipient, None, error.word or error.code


def _denial(there: Transaction, caller: Principal, memory: RawMemory, place: Visibility | None) -> str | None:
    if memory.capture.candidate is not None or not Lifecycle.of(memory).is_recallable:
        return "raw_memory_not_recallable"
    if memory.entity.principal_id != caller.user_id and caller.role not in ADMINS:
        return "principal_mismatch"
    if place is None:
        return None
    if there.rejections.rejected(scope_of_words(place, caller.user_id), [memory.entity.content]):
        return "rejected_words"
    is_there = there.organization_id == caller.organization_id and memory.entity.visibility == place.key
    return "already_in_scope" if is_there else None


def _copied(
    tx: Transaction, caller: Principal, request: ShareRequest, place: Visibility, memory: RawMemory
) -> SharedMemory:
    entity = memory.entity
    known = tx.memories.same_memory(place.key, entity.content)
    if known is not None:
        return SharedMemory(source_id=entity.id, promoted_id=known.entity.id, reason="already_shared")
    fields = RawMemoryFields(
        raw_content=entity.content,
        title=entity.name,
        source_id=memory.capture.source_id,
        memory_scope=place.memory_scope,
        scope_key=place.scope_key,
        project_id=request.project_id,
        tags=list(entity.tags),
        metadata={**entity.metadata, "derived_from": [entity.id]},
        provenance={**memory.capture.provenance, "shared_from": entity.id, "shared_by": caller.user_id},
        capture_surface=SURFACE,
    )
    copy = tx.memories.create_memory(*memory_draft(tx, caller, fields))
    return SharedMemory(source_id=entity.id, promoted_id=copy.entity.id, reason="shared")


def _audit(app: App, call: Call, tx: Transaction, action: str, judged: _Judged, copies: Mapping[str, str]) -> list[str]:
    home, preview = app.accounts.home_of(call.caller.user_id), judged.preview
    found = []
    for memory in (*judged.sources, *judged.denied):
        entity, made = memory.entity, copies.get(memory.entity.id)
        refusal = None if preview.allowed else judged.denials.get(entity.id, preview.reason)
        details = policy_details(entity, refusal) | {"target_scope": preview.target_scope}
        ids: JsonObject = {
            "scope_key": entity.scope_key,
            "target_scope_key": judged.request.target_scope_key,
            "source_ids": [entity.id],
            "derived_ids": [made] if made else [],
        }
        found.append(tx.audit(memory_entry(home, call, action, entity, details, ids)))
        is_told = judged.is_away or (entity.memory_scope == "private" != preview.target_scope)
        if made and judged.place is not None and is_told:
            # Its new readers see who shared the copy, but not the private memory.
            copied: JsonObject = {"scope_key": judged.place.scope_key, "derived_ids": [made]}
            told = {**details, "memory_scope": judged.place.memory_scope}
            told_to = replace(call, principal=judged.recipient)
            tx.audit(memory_entry(home, told_to, action, judged.place, told, copied))
    return found
