"""What the audit log is to remember of a call."""

from stores.ledger import AuditDraft
from stores.records import JsonObject
from tools.operation import Call


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
