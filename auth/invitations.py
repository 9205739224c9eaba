"""Invitations: check and accept them."""

from auth.accounts import Accounts, SignedIn
from auth.one_time import token_hash
from auth.origin import Origin
from stores.errors import InvalidRequest
from stores.ledger import AuditDraft, address_key
from stores.records import Invitation, User


def require_invitation(accounts: Accounts, token: str, email: str) -> Invitation:
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
    """Accept an invitation and start a session in its organization."""
    invitation = accounts.ledger.invitations.accept(token_hash(token), user.id, audit)
    return accounts.start(user, origin, organization_id=invitation.organization_id)


def accept(
    accounts: Accounts, session_id: str, user_id: str, token: str, audit: AuditDraft, origin: Origin
) -> SignedIn:
    """Accept an invitation and move the session to its organization."""
    invitation = accounts.ledger.invitations.accept(token_hash(token), user_id, audit)
    return accounts.switch(session_id, invitation.organization_id, origin=origin)
