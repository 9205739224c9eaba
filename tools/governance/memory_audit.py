"""The audit log of memories: each remember, recall, denial, correction, promotion and share."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.policy import ADMINS, MemoryScope, require_whole
from stores.errors import InvalidRequest
from stores.ledger import AuditEntry, AuditQuery, SubjectRole
from stores.records import JsonObject
from tools.app import App
from tools.frame.json_values import texts_in
from tools.frame.operation import Call, Filters, Operation, Result, Route
from tools.memory.spaces import INSUFFICIENT
from tools.records.entity_models import EntityId

PREFIX = "memory."
SHOWN_IDS = 100
_APART = ("memory_scope", "scope_key", "project_id", "source_surface", "source_ids", "derived_ids")
_POLICY = ("policy_allowed", "policy_reason")


class MemoryAuditRequest(Filters, extra="forbid"):
    """Select events; an unknown filter must not widen what is read."""

    action: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="Only this action, which begins with `memory.`; with a final dot, all that begin with it."
    )
    actor_user_id: EntityId | None = Field(None, description="Only what this user did.")
    source_id: EntityId | None = Field(None, description="Only what names this raw memory as a source.")
    derived_id: EntityId | None = Field(None, description="Only what names this record as derived.")
    memory_scope: MemoryScope | None = Field(None, description="Only this scope.")
    project_id: EntityId | None = Field(None, description="Only this project.")
    policy_allowed: bool | None = Field(None, description="Only what was allowed, or only what was refused.")
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


def memory_audit(app: App, call: Call, request: MemoryAuditRequest) -> MemoryEvents:
    """List what was done with the memories of the organization, newest first.

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
    return MemoryEvent(
        id=entry.id,
        organization_id=draft.organization_id,
        user_id=draft.actor_id,
        action=draft.action,
        **{name: _text(draft.details.get(name)) for name in (*_APART[:4], "policy_reason")},
        source_ids=sources[:SHOWN_IDS],
        source_ids_truncated=len(sources) > SHOWN_IDS,
        derived_ids=derived[:SHOWN_IDS],
        derived_ids_truncated=len(derived) > SHOWN_IDS,
        policy_allowed=allowed if isinstance(allowed, bool) else None,
        details={name: value for name, value in draft.details.items() if name not in (*_APART, *_POLICY)},
        created_at=entry.created_at,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


OPERATIONS = (
    Operation(
        memory_audit,
        roles=ADMINS,
        role_refusal=INSUFFICIENT,
        route=Route("GET", "/api/memory/audit", tag="memory", errors=(400,)),
    ),
)
