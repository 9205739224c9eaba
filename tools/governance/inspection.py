"""Inspection: all that is known of one raw memory, the corrections that the caller may make, and the audit log."""

from datetime import datetime
from typing import Annotated, cast

from pydantic import Field, StringConstraints

from auth.memory_policy import READ_REASONS
from auth.policy import ADMINS, MemoryScope, require_whole
from auth.principal import Principal
from stores.errors import InvalidRequest
from stores.ledger import AuditEntry, AuditQuery, SubjectRole, Transaction
from stores.records import Entity, JsonObject, RawMemory
from tools.app import App
from tools.frame.audit_entries import memory_entry, policy_details
from tools.frame.json_values import texts_in
from tools.frame.operation import WRITERS, Call, Filters, Result, Route, entry
from tools.governance.corrections import corrected_memory, may_see, refusal_of
from tools.governance.derived import resting_on
from tools.governance.lifecycle import (
    RULES,
    CorrectionAction,
    CorrectionRequest,
    InspectedRequest,
    Lifecycle,
    LifecycleState,
    LifecycleView,
    Step,
    is_withheld,
    lifecycle_view,
)
from tools.memory.spaces import INSUFFICIENT
from tools.records.entity_models import EntityId
from tools.records.memory_models import MemoryFacts, memory_fields

PREFIX = "memory."
SHOWN_IDS = 100
_APART = ("memory_scope", "scope_key", "project_id", "source_surface", "source_ids", "derived_ids")
_POLICY = ("policy_allowed", "policy_reason")
_TEXTS = (*_APART[:4], "policy_reason")


class MemoryAuditRequest(Filters, extra="forbid"):
    """Select events; an unknown filter must not widen the result."""

    action: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="Only this action, which begins with `memory.`; with a final dot, all that begin with it."
    )
    actor_user_id: EntityId | None = Field(None, description="Only what this user did.")
    source_id: EntityId | None = Field(None, description="Only what names this raw memory as a source.")
    derived_id: EntityId | None = Field(None, description="Only what names this record as derived.")
    memory_scope: MemoryScope | None = Field(None, description="Only this scope.")
    project_id: EntityId | None = Field(None, description="Only this project.")
    policy_allowed: bool | None = Field(None, description="Only allowed events, or only refused ones.")
    limit: int = Field(50, ge=1, le=200, description="Most events.")


class MemoryEvent(Result):
    """One use of memories. It holds ids, never text of a record."""

    id: str
    organization_id: str | None
    user_id: str | None
    action: str
    memory_scope: str | None
    scope_key: str | None
    project_id: str | None
    source_surface: str | None
    source_ids: list[str] = Field(description=f"At most {SHOWN_IDS}.")
    source_ids_truncated: bool = False
    derived_ids: list[str] = Field(description=f"At most {SHOWN_IDS}.")
    derived_ids_truncated: bool = False
    policy_allowed: bool | None
    policy_reason: str | None
    details: JsonObject
    created_at: datetime


class MemoryEvents(Result):
    """Events, newest first."""

    events: list[MemoryEvent]
    limit: int


@entry(Route("GET", "/api/memory/audit", tag="memory", errors=(400,)), roles=ADMINS, role_refusal=INSUFFICIENT)
def memory_audit(app: App, call: Call, request: MemoryAuditRequest) -> MemoryEvents:
    """List the audit events of memories in the organization, newest first.

    Private memories are not among them: what a user does with its own stands in its personal organization.
    """
    require_whole(call.caller, "The audit log")
    if request.action and not request.action.startswith(PREFIX):
        raise InvalidRequest(
            "invalid_memory_audit_action",
            code="invalid_memory_audit_action",
            remediation="Name an action that begins with `memory.`, such as memory.recall.",
            details={"field": "query.action"},
        )
    named: tuple[tuple[SubjectRole, str | None], ...] = (("source", request.source_id), ("derived", request.derived_id))
    query = AuditQuery(
        organization_id=call.caller.organization_id,
        actor_id=request.actor_user_id,
        action=request.action or PREFIX,
        subjects=[(role, each) for role, each in named if each],
        memory_scope=request.memory_scope,
        project_id=request.project_id,
        allowed=request.policy_allowed,
        limit=request.limit,
    )
    events = [event_view(each) for each in app.ledger.audit.entries(query)]
    return MemoryEvents(events=events, limit=request.limit)


def event_view(entry: AuditEntry) -> MemoryEvent:
    draft = entry.draft
    sources, derived = texts_in(draft.details.get("source_ids")), texts_in(draft.details.get("derived_ids"))
    allowed = draft.details.get("policy_allowed")
    return MemoryEvent.of(
        draft,
        id=entry.id,
        user_id=draft.actor_id,
        **{name: said if isinstance(said := draft.details.get(name), str) else None for name in _TEXTS},
        source_ids=sources[:SHOWN_IDS],
        source_ids_truncated=len(sources) > SHOWN_IDS,
        derived_ids=derived[:SHOWN_IDS],
        derived_ids_truncated=len(derived) > SHOWN_IDS,
        policy_allowed=allowed if isinstance(allowed, bool) else None,
        details={name: value for name, value in draft.details.items() if name not in (*_APART, *_POLICY)},
        created_at=entry.created_at,
    )


EVENTS = 20
INSPECT = "memory.inspect"
PROMOTIONS = ("memory.promote", "memory.reflect.promote", "memory.reflect.auto_promote")


class MemoryVisibility(Result):
    """Readers of a raw memory, and whether they see its words."""

    content_visible: bool
    content_redacted: bool
    lifecycle_state: LifecycleState
    memory_scope: str
    scope_key: str | None
    principal_id: str
    agent_id: str | None
    project_id: str | None
    policy_reason: str


class PromotionState(Result):
    """The record that was made of a raw memory."""

    state: str = Field(description="`not_promoted` or `promoted`.")
    promoted_id: str | None
    promoted_at: datetime | None
    audit_event_ids: list[str]


class ShareState(Result):
    """Shares of a raw memory."""

    state: str = Field(description="`none` or `shared`.")
    audit_event_ids: list[str]


class DerivedRecord(Result):
    """A record that rests on a raw memory."""

    id: str
    record_type: str
    source_action: str = Field(description="Operation that made it: `remember`, `reflect`, …")
    withheld: bool = Field(description="True if no read shows it, because all its sources are out of sight.")


class AvailableAction(Result):
    """A correction, and whether the caller may make it now."""

    action: CorrectionAction
    available: bool
    preview_required: bool = False
    reason: str | None = Field(None, description="Why it is not available.")


class InspectedMemory(MemoryFacts):
    """All that is known of a raw memory."""

    visibility: MemoryVisibility
    lifecycle: LifecycleView
    reflection_findings: list[JsonObject] = Field(description="Findings of the reflection that proposed a record.")
    claim_records: list[DerivedRecord] = Field(description="The claims among the records that rest on it.")
    correction_history: list[Step] = Field(description="Its corrections, the earliest first.")
    promotion_state: PromotionState
    share_state: ShareState
    entity_type: str
    raw_content: str | None
    content_redacted: bool
    raw_content_length: int
    freshness_timestamps: dict[str, datetime]
    transform_versions: dict[str, int] = Field(description="Revisions of the memory and of its derived records, by id.")
    policy_allowed: bool
    policy_metadata: JsonObject
    derived_ids: list[str]
    derived_types: list[str]
    derived_records: list[DerivedRecord]
    recent_audit_events: list[MemoryEvent] = Field(description=f"The latest {EVENTS} in the caller's log.")
    audit_event_count: int
    available_actions: list[AvailableAction]


@entry(
    Route("GET", "/api/memory/inspect/{source_id}", tag="memory", errors=(404,)),
    roles=WRITERS,
    role_refusal=INSUFFICIENT,
)
def inspect_memory(app: App, call: Call, request: InspectedRequest) -> InspectedMemory:
    """Show all that is known of a raw memory: words, lifecycle, what rests on it, its audit trail, and its corrections.

    Withheld memories are shown, too; unreadable ones do not exist.
    """
    caller = call.caller
    home = app.accounts.home_of(caller.user_id)
    with app.ledger.transaction(caller.organization_id, caller.user_id) as tx:
        memory = corrected_memory(tx, caller, request.source_id)
        derived = [each for each in resting_on(tx.memories.made_of, memory.entity) if may_see(caller, each)]
        actions = [_available(tx, caller, memory, each) for each in RULES]
        entity = memory.entity
        reason = READ_REASONS[cast("MemoryScope", entity.memory_scope)]
        details = policy_details(entity, None, reason)
        tx.audit(memory_entry(home, call, INSPECT, entity, details, {"source_ids": [entity.id]}))
    log = home if entity.memory_scope == "private" else caller.organization_id
    events = app.ledger.audit.entries(AuditQuery(log, action=PREFIX, subjects=[(None, entity.id)], limit=1_000))
    return _view(memory, reason, derived, events, actions)


def _available(tx: Transaction, caller: Principal, memory: RawMemory, action: CorrectionAction) -> AvailableAction:
    refusal = refusal_of(tx, caller, memory, CorrectionRequest(source_id=memory.entity.id, action=action))
    missing = refusal is not None and refusal.startswith("missing_")
    needs = RULES[action].needs
    return AvailableAction(
        action=action,
        available=refusal is None or missing,
        preview_required=not RULES[action].is_reversible,
        reason=f"needs {needs}" if missing else refusal,
    )


def _view(
    memory: RawMemory, reason: str, derived: list[Entity], events: list[AuditEntry], actions: list[AvailableAction]
) -> InspectedMemory:
    entity, capture, lifecycle = memory.entity, memory.capture, Lifecycle.of(memory)
    is_redacted = "redacted" in lifecycle.flags
    records = [
        DerivedRecord(
            id=each.id,
            record_type=each.entity_type,
            source_action=mode if isinstance(mode := each.metadata.get("capture_mode"), str) else "derived",
            withheld=is_withheld(each),
        )
        for each in derived
    ]
    promoted = [each.id for each in events if each.draft.action in PROMOTIONS]
    shared = [each.id for each in events if each.draft.action == "memory.share.apply"]
    made = next((each for each in derived if each.id == capture.entity_id), None)
    findings = (capture.candidate or {}).get("reflection_findings")
    return InspectedMemory.of(
        entity,
        **memory_fields(memory, policy_reason=reason),
        visibility=MemoryVisibility.of(
            entity,
            content_visible=True,
            content_redacted=is_redacted,
            lifecycle_state=lifecycle.state,
            agent_id=capture.agent_id,
            policy_reason=reason,
        ),
        lifecycle=lifecycle_view(entity.id, lifecycle, [each.id for each in records]),
        reflection_findings=findings if isinstance(findings, list) else [],
        claim_records=[each for each in records if each.record_type == "claim"],
        correction_history=lifecycle.steps,
        promotion_state=PromotionState(
            state="promoted" if capture.entity_id else "not_promoted",
            promoted_id=made.id if made is not None else None,
            promoted_at=made.created_at if made is not None else None,
            audit_event_ids=promoted,
        ),
        share_state=ShareState(state="shared" if shared else "none", audit_event_ids=shared),
        content_redacted=is_redacted,
        raw_content_length=len(entity.content),
        freshness_timestamps={
            "captured_at": capture.captured_at, "created_at": entity.created_at, "updated_at": entity.updated_at,
        },
        transform_versions={each.id: each.revision for each in (entity, *derived)},
        policy_allowed=True,
        policy_metadata={"memory_scope": entity.memory_scope, "scope_key": entity.scope_key},
        derived_ids=[each.id for each in records],
        derived_types=sorted({each.record_type for each in records}),
        derived_records=records,
        recent_audit_events=[event_view(each) for each in events[:EVENTS]],
        audit_event_count=len(events),
        available_actions=actions,
    )  # fmt: skip
