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
    request: JsonObject = {"request_id": call.request_id, "address": call.client, "user_agent": call.user_agent}
    actor = call.principal.user_id if call.principal else None
    return AuditDraft(action, organization_id, actor, resource, details or {}, request)
