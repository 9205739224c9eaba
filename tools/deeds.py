"""What the audit log is to remember of a call."""

from stores.ledger import AuditDraft, Ledger
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
    if call.principal is not None and call.principal.key_id is not None:
        request["api_key_id"] = call.principal.key_id
    actor = call.principal.user_id if call.principal else None
    return AuditDraft(action, organization_id, actor, resource, details or {}, request)


def home_of(ledger: Ledger, user_id: str) -> str | None:
    """Return the organization in whose log stands what a user does to its account alone: the personal one. Blocks.

    Of a user without one it stands in the log of the server.
    """
    found = ledger.default_organization(user_id)
    return found.id if found is not None and found.is_personal else None
