"""End sessions."""

from dataclasses import replace

from auth.accounts import Accounts
from auth.origin import NOWHERE, Origin
from auth.principal import Principal
from auth.rights import require_session
from stores.errors import AuthenticationRequired, InvalidRequest
from stores.ledger import AuditDraft


def log_out(
    accounts: Accounts, principal: Principal | None, refresh_token: str | None, origin: Origin = NOWHERE
) -> set[str]:
    """End the caller's session and that of a refresh token; return the users' ids."""
    users: set[str] = set()
    if principal is not None and principal.session_id is not None:
        end_session(accounts, principal.session_id, principal.user_id, origin)
        users.add(principal.user_id)
    if refresh_token is None:
        return users
    try:
        claims = accounts.tokens.read(refresh_token, "refresh")
    except AuthenticationRequired:
        return users
    if claims.session_id is not None:
        end_session(accounts, claims.session_id, claims.user_id, origin)
        users.add(claims.user_id)
    return users


def end_session(accounts: Accounts, session_id: str, user_id: str, origin: Origin) -> bool:
    """End a session; return False if there is none. Blocks."""
    session = accounts.ledger.people.session(session_id)
    if session is None or session.user_id != user_id:
        return False
    audit = AuditDraft("session.end", session.organization_id, user_id, session_id, {}, origin.described())
    return accounts.ledger.people.revoke_session(session_id, user_id=user_id, audit=audit)


def change_password(accounts: Accounts, principal: Principal, current: str, new: str, audit: AuditDraft) -> None:
    """Replace the caller's password and end all its sessions. Blocks."""
    require_session(principal)
    user = accounts.ledger.people.user(principal.user_id)
    if not accounts.passwords.verify(user.password_hash if user else None, current):
        accounts.ledger.audit.append(replace(audit, action="user.password_refuse"))
        raise InvalidRequest(
            "The current password is not right.",
            code="invalid_current_password",
            remediation="Send the password that you log in with, or reset it by mail.",
            details={"field": "body.current_password"},
        )
    accounts.ledger.people.set_password_hash(principal.user_id, accounts.passwords.hash(new), audit)
