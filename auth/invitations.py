"""Invitations: the tokens that they travel by, and what accepting one does to a session."""

import hashlib
import secrets

from auth.accounts import Accounts, SignedIn
from stores.errors import InvalidRequest
from stores.ledger import AuditDraft
from stores.records import Invitation


def new_token() -> tuple[str, str]:
    """Make a token of 256 random bits; return it and the hash that is stored."""
    token = secrets.token_urlsafe(32)
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """Digest a token. It is random enough that no salt or slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


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
    if invitation.email.casefold() != email.strip().casefold():
        raise InvalidRequest(
            "The invitation is for another e-mail address.",
            remediation="Use the account of the address that was invited.",
        )
    return invitation


def accept(accounts: Accounts, signed: SignedIn, token: str, audit: AuditDraft) -> SignedIn:
    """Make whoever just signed in a member, and move the session to the organization. Blocks.

    Raises:
        InvalidRequest: The invitation does not hold any more, or is for another address.
        Conflict: The user is a member already.
    """
    session = signed.identity.session
    if session is None:
        raise ValueError("a sign-in has a session")
    invitation = accounts.ledger.invitations.accept(token_hash(token), signed.identity.user.id, audit)
    return accounts.switch(session.id, invitation.organization_id)
