"""Invitations: whether one holds, and what accepting it does to a session."""

from auth.accounts import Accounts, SignedIn
from auth.one_time import token_hash
from auth.origin import Origin
from stores.errors import InvalidRequest
from stores.ledger import AuditDraft, address_key
from stores.records import Invitation, User


def require_invitation(accounts: Accounts, token: str, email: str) -> Invitation:
    """Return the pending invitation of a token, for this address. Blocks.

    Raises:
        InvalidRequest: It was used or revoked, has expired, or is for another address.
    """
    invitation = accounts.ledger.invitations.by_token(token_hash(token))
    if invitation is None:
        raise InvalidRequest(
            "The invitation is not valid, was used or revoked, or has expired.", remediation="Ask for a new invitation."
        )
    if address_key(invitation.email) != address_key(email.strip()):
        raise InvalidRequest(
            "The invitation is for another e-mail address.",
            remediation="Use the account of the address that was invited.",
        )
    return invitation


def enter(accounts: Accounts, user: User, token: str, audit: AuditDraft, origin: Origin) -> SignedIn:
    """Make somebody whose password was checked a member, and start a session there; none where it is refused. Blocks.

    Raises:
        InvalidRequest: The invitation does not hold any more, or is for another address.
        Conflict: The user is a member already.
    """
    invitation = accounts.ledger.invitations.accept(token_hash(token), user.id, audit)
    return accounts.start(user, origin, organization_id=invitation.organization_id)


def accept(
    accounts: Accounts, session_id: str, user_id: str, token: str, audit: AuditDraft, origin: Origin
) -> SignedIn:
    """Make the user of a session a member, and move the session to the organization. Blocks.

    Raises:
        InvalidRequest: The invitation does not hold any more, or is for another address.
        Conflict: The user is a member already.
    """
    invitation = accounts.ledger.invitations.accept(token_hash(token), user_id, audit)
    return accounts.switch(session_id, invitation.organization_id, origin=origin)
