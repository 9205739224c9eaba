"""Signing in a device without a browser (RFC 8628): its two codes, and the session that an approval is worth."""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from auth.accounts import Accounts, SignedIn
from auth.one_time import new_token, token_hash
from auth.principal import Principal
from auth.rights import require_session
from stores.errors import Conflict, NotFound
from stores.ledger import AuditDraft, DeviceLogin, DeviceRefusal
from stores.records import Session

LIFETIME = timedelta(minutes=10)
INTERVAL_S = 5
ATTEMPTS = 5
"""User codes have 34 random bits: several in a row that are taken are no accident."""

PROVIDER = "device"
"""How sessions that began this way are marked."""

ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
"""Easy to read out and to type, and without vowels, so that no words come about (RFC 8628, section 6.1)."""

_LENGTH = 8
_PURPOSE = b"engrain device codes 1"


@dataclass(frozen=True, slots=True)
class StartedDevice:
    """What a device is told when it begins."""

    device_code: str
    user_code: str
    expires_in: int
    """Seconds."""
    interval: int
    """Seconds that it waits between two questions."""


@dataclass(frozen=True, slots=True)
class AskingDevice:
    """What a device that waits says of itself, and where it is seen to be: nothing of it is proven."""

    client_name: str
    address: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class WaitingDevice:
    """A device that waits for a decision, as the person who decides sees it."""

    user_code: str
    asking: AskingDevice
    started_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Devices:
    """The device logins of one server. Every method blocks."""

    accounts: Accounts

    def start(self, asking: AskingDevice) -> StartedDevice:
        """Let a device wait; both codes are stored as hashes only."""
        details = {"client_name": asking.client_name, "address": asking.address, "user_agent": asking.user_agent}
        for _ in range(ATTEMPTS):
            device_code, device_hash = new_token()
            user_code = new_user_code()
            login = DeviceLogin(
                device_hash,
                self._hash(user_code),
                dict(details),
                INTERVAL_S,
                expires_at=self.accounts.clock() + LIFETIME,
            )
            try:
                self.accounts.ledger.device_logins.start(login)
            except Conflict:
                continue
            return StartedDevice(device_code, user_code, int(LIFETIME.total_seconds()), INTERVAL_S)
        raise Conflict("No free code was found for the device.", remediation="Try again.")

    def waiting(self, caller: Principal, typed: str) -> WaitingDevice:
        """Return the device that shows a code, to somebody who signed in.

        Raises:
            Forbidden: The caller did not sign in: a key must not turn into a session.
            NotFound: No device waits with that code: it is unknown, expired or was decided before.
        """
        require_session(caller)
        user_code = read_user_code(typed)
        found = user_code and self.accounts.ledger.device_logins.by_user_code(self._hash(user_code))
        if not user_code or not found:
            raise _unknown()
        return WaitingDevice(user_code, _asking(found), found.expires_at - LIFETIME, found.expires_at)

    def approve(self, caller: Principal, typed: str, organization_id: str, audit: AuditDraft) -> None:
        """Let a device sign in as the caller, in one of the caller's organizations.

        Raises:
            Forbidden: The caller did not sign in.
            NotFound: No device waits with that code.
        """
        require_session(caller)
        self.accounts.ledger.device_logins.approve(self._hash_of(typed), caller.user_id, organization_id, audit)

    def deny(self, caller: Principal, typed: str, audit: AuditDraft) -> None:
        """Turn a device away.

        Raises:
            Forbidden: The caller did not sign in.
            NotFound: No device waits with that code.
        """
        require_session(caller)
        self.accounts.ledger.device_logins.deny(self._hash_of(typed), audit)

    def redeem(
        self, device_code: str, *, address: str, user_agent: str, audit: Callable[[Session], AuditDraft]
    ) -> SignedIn | DeviceRefusal:
        """Answer a device that asks for its tokens; an approval is worth one session."""

        def enter(login: DeviceLogin) -> tuple[Session, AuditDraft]:
            fresh = self.accounts.new_session(login.user_id or "", login.organization_id or "")
            session = replace(fresh, provider=PROVIDER, user_agent=user_agent or None, ip_address=address or None)
            return session, audit(session)

        found = self.accounts.ledger.device_logins.enter(token_hash(device_code), enter)
        if isinstance(found, str):
            return found
        identity = self.accounts.ledger.identity(found.user_id, found.organization_id, found.id)
        return "access_denied" if identity is None else self.accounts.signed_in(identity, found)

    def _hash_of(self, typed: str) -> str:
        user_code = read_user_code(typed)
        if user_code is None:
            raise _unknown()
        return self._hash(user_code)

    def _hash(self, user_code: str) -> str:
        """Digest a user code with the server's secret: it is short enough to be found by trying all others."""
        derived = hmac.digest(self.accounts.tokens.secret.encode(), _PURPOSE, hashlib.sha256)
        return hmac.digest(derived, user_code.encode(), hashlib.sha256).hex()


def new_user_code() -> str:
    """Make a code to be typed by hand, of the form `BCDF-GHJK`."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(_LENGTH))
    return f"{letters[:4]}-{letters[4:]}"


def read_user_code(typed: str) -> str | None:
    """Read a code as somebody typed it, in any case and with anything between the letters; None if it is none."""
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())
    if len(letters) != _LENGTH or not set(letters) <= set(ALPHABET):
        return None
    return f"{letters[:4]}-{letters[4:]}"


def _asking(login: DeviceLogin) -> AskingDevice:
    said = login.details
    return AskingDevice(str(said["client_name"]), str(said["address"]), str(said["user_agent"]))


def _unknown() -> NotFound:
    return NotFound(
        "No program waits with that code.",
        remediation="Check the code that the program shows; if it is older than ten minutes, start the login again.",
    )
