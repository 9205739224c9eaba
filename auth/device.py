"""Device login (RFC 8628): both codes, and one session for an approval."""

import secrets
from datetime import timedelta

from auth.accounts import Accounts, SignedIn
from auth.one_time import keyed_hash, new_token, token_hash
from auth.origin import Origin
from auth.principal import Principal
from auth.rights import require_session
from stores.errors import NotFound
from stores.ledger import AuditDraft, DeviceLogin, DeviceRefusal
from stores.records import JsonObject, Session

LIFETIME = timedelta(minutes=10)
INTERVAL_S = 5
"""Seconds between two polls."""
PROVIDER = "device"

ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants only, so that codes spell no words (RFC 8628, section 6.1)."""

_LENGTH = 8
_PURPOSE = b"engrain device codes 1"


def start_login(accounts: Accounts, details: JsonObject) -> tuple[str, str]:
    """Start a device login; return its device code and user code, of which only hashes are stored."""
    (device_code, device_hash), user_code = new_token(), shown("".join(map(secrets.choice, [ALPHABET] * _LENGTH)))
    login = DeviceLogin(
        device_hash, _hash(accounts, user_code), details, INTERVAL_S, expires_at=accounts.clock() + LIFETIME
    )
    accounts.ledger.device_logins.start(login)
    return device_code, user_code


def waiting_login(accounts: Accounts, caller: Principal, typed: str) -> tuple[str, DeviceLogin]:
    """Return the user code as it is shown, and the login that waits with it."""
    require_session(caller)
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())
    found = None
    if len(letters) == _LENGTH and set(letters) <= set(ALPHABET):
        found = accounts.ledger.device_logins.by_user_code(_hash(accounts, shown(letters)))
    if found is None:
        raise NotFound(
            "No program waits with that code.",
            remediation="Check the code that the program shows; if it is older than ten minutes, start the login "
            "again.",
        )
    return shown(letters), found


def decide_login(
    accounts: Accounts, caller: Principal, user_code: str, organization_id: str | None, audit: AuditDraft
) -> None:
    """Approve a login for an organization; deny it without one."""
    accounts.ledger.device_logins.decide(_hash(accounts, user_code), caller.user_id, organization_id, audit)


def redeem_code(accounts: Accounts, device_code: str, origin: Origin) -> SignedIn | DeviceRefusal:
    def enter(login: DeviceLogin) -> tuple[Session, AuditDraft]:
        session = accounts.new_session(login.user_id or "", login.organization_id or "", origin, PROVIDER)
        where, who = session.organization_id, session.user_id
        return session, origin.draft("session.start", where, who, session.id, provider=PROVIDER)

    found = accounts.ledger.device_logins.enter(token_hash(device_code), enter)
    return found if isinstance(found, str) else accounts.resumed(found) or "access_denied"


def _hash(accounts: Accounts, user_code: str) -> str:
    return keyed_hash(accounts.tokens.secret, _PURPOSE, user_code)


def shown(letters: str) -> str:
    return f"{letters[:4]}-{letters[4:]}"
