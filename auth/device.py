"""Device login (RFC 8628): both codes, and one session for an approval."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Devices:
    """The device logins of one server. Every method blocks."""

    accounts: Accounts

    def start(self, details: JsonObject) -> tuple[str, str]:
        """Start a device login; return its device code and user code, of which only hashes are stored."""
        (device_code, device_hash), user_code = new_token(), new_user_code()
        expires_at = self.accounts.clock() + LIFETIME
        login = DeviceLogin(device_hash, self._hash(user_code), details, INTERVAL_S, expires_at=expires_at)
        self.accounts.ledger.device_logins.start(login)
        return device_code, user_code

    def waiting(self, caller: Principal, typed: str) -> tuple[str, DeviceLogin]:
        """Return the user code as it is shown, and the login that waits with it."""
        require_session(caller)
        user_code = read_user_code(typed)
        found = user_code and self.accounts.ledger.device_logins.by_user_code(self._hash(user_code))
        if not user_code or not found:
            raise NotFound(
                "No program waits with that code.",
                remediation="Check the code that the program shows; if it is older than ten minutes, start the login "
                "again.",
            )
        return user_code, found

    def approve(self, caller: Principal, user_code: str, organization_id: str, audit: AuditDraft) -> None:
        self.accounts.ledger.device_logins.approve(self._hash(user_code), caller.user_id, organization_id, audit)

    def deny(self, user_code: str, audit: AuditDraft) -> None:
        self.accounts.ledger.device_logins.deny(self._hash(user_code), audit)

    def redeem(
        self, device_code: str, origin: Origin, audit: Callable[[Session], AuditDraft]
    ) -> SignedIn | DeviceRefusal:
        def enter(login: DeviceLogin) -> tuple[Session, AuditDraft]:
            session = self.accounts.new_session(login.user_id or "", login.organization_id or "", origin, PROVIDER)
            return session, audit(session)

        found = self.accounts.ledger.device_logins.enter(token_hash(device_code), enter)
        if isinstance(found, str):
            return found
        return self.accounts.resumed(found) or "access_denied"

    def _hash(self, user_code: str) -> str:
        return keyed_hash(self.accounts.tokens.secret, _PURPOSE, user_code)


def new_user_code() -> str:
    """Make a code of the form `BCDF-GHJK`."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(_LENGTH))
    return f"{letters[:4]}-{letters[4:]}"


def read_user_code(typed: str) -> str | None:
    """Normalize a typed code; None if it is no code."""
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())
    if len(letters) != _LENGTH or not set(letters) <= set(ALPHABET):
        return None
    return f"{letters[:4]}-{letters[4:]}"
