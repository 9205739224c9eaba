"""Audit entries of calls; they hold ids, never text of a record."""

from auth.memory_policy import WRITE_REASON
from stores.ledger import AuditDraft
from stores.records import Entity, JsonObject, RawMemory
from tools.frame.operation import Call

WITHHELD = ("team", "shared", "delegated")
REMEMBER = "memory.remember"


def audit_entry(
    call: Call, action: str, organization_id: str | None, resource: str | None = None, details: JsonObject | None = None
) -> AuditDraft:
    """Draft the entry of an action; without organization, for the server's log."""
    request = call.origin.described()
    if call.principal is not None:
        held: JsonObject = {"api_key_id": call.principal.key_id, "grant_id": call.principal.grant_id}
        request |= {name: value for name, value in held.items() if value is not None}
    actor = call.principal.user_id if call.principal else None
    return AuditDraft(action, organization_id, actor, resource, details or {}, request)


def memory_entry(
    home: str | None, call: Call, action: str, memory: Entity, details: JsonObject, ids: JsonObject
) -> AuditDraft:
    """Draft the entry of an action on a raw memory. `home` is the caller's personal organization.

    Actions on private memories go to the log of the caller's personal organization, so that nobody else learns of
    them. In `WITHHELD` scopes the entry leaves `ids` out.
    """
    organization = call.caller.organization_id
    if memory.memory_scope in WITHHELD:
        return audit_entry(call, action, organization, None, details)
    if memory.memory_scope != "private":
        return audit_entry(call, action, organization, memory.id, details | ids)
    return audit_entry(call, action, home, memory.id, details | ids | {"organization_id": organization})


def remember_entry(home: str | None, call: Call, memory: RawMemory, entity: Entity | None = None) -> AuditDraft:
    """Draft the entry of a kept raw memory, and of the entity that was made of it."""
    kept = memory.entity
    details: JsonObject = {"memory_scope": kept.memory_scope, "policy_allowed": True, "policy_reason": WRITE_REASON}
    ids: JsonObject = {
        "scope_key": kept.scope_key,
        "project_id": kept.project_id,
        "source_ids": [kept.id],
        "derived_ids": [] if entity is None else [entity.id],
    }
    return memory_entry(home, call, REMEMBER, kept, details, ids)
