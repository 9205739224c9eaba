"""What the audit log is to remember of a call."""

from auth.memory_policy import WRITE_REASON
from stores.ledger import AuditDraft
from stores.records import Entity, JsonObject, RawMemory
from tools.operation import Call

WITHHELD = ("team", "shared", "delegated")
"""Scopes that nobody reads by a role in the organization."""
REMEMBER = "memory.remember"


def deed(
    call: Call,
    action: str,
    organization_id: str | None,
    resource: str | None = None,
    details: JsonObject | None = None,
) -> AuditDraft:
    """Draft the entry of something that the caller does; an organization of None is the server."""
    request = call.origin.described()
    if call.principal is not None:
        held: JsonObject = {"api_key_id": call.principal.key_id, "grant_id": call.principal.grant_id}
        request |= {name: value for name, value in held.items() if value is not None}
    actor = call.principal.user_id if call.principal else None
    return AuditDraft(action, organization_id, actor, resource, details or {}, request)


def memory_deed(
    home: str | None, call: Call, action: str, memory: Entity, details: JsonObject, ids: JsonObject
) -> AuditDraft:
    """Draft the entry of something that the caller does to a raw memory; it holds ids, no text.

    What somebody does to private memories stands in the log of the own personal organization: nobody else learns that
    there are any. Of those that admins of the organization need not be able to read, no `ids` stand in its log.
    """
    organization = call.caller.organization_id
    if memory.memory_scope in WITHHELD:
        return deed(call, action, organization, None, details)
    if memory.memory_scope != "private":
        return deed(call, action, organization, memory.id, details | ids)
    return deed(call, action, home, memory.id, details | ids | {"organization_id": organization})


def remembered(home: str | None, call: Call, memory: RawMemory, entity: Entity | None = None) -> AuditDraft:
    """Draft the entry of what somebody kept as it was said, with what was made of it."""
    kept = memory.entity
    details: JsonObject = {"memory_scope": kept.memory_scope, "policy_allowed": True, "policy_reason": WRITE_REASON}
    ids: JsonObject = {
        "scope_key": kept.scope_key,
        "project_id": kept.project_id,
        "source_ids": [kept.id],
        "derived_ids": [] if entity is None else [entity.id],
    }
    return memory_deed(home, call, REMEMBER, kept, details, ids)
