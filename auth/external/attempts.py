"""Pending sign-ins, each bound to one browser and usable once."""

import re
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial

from auth.tokens import token_hash
from stores.errors import InvalidRequest
from stores.ledger import Ledger

KIND = "oauth_state"
LIFETIME = timedelta(minutes=10)
MOST = 4
_SECRET = re.compile(r"[A-Za-z0-9_-]{22}")
_fresh = partial(secrets.token_urlsafe, 32)


@dataclass(frozen=True, slots=True)
class Attempt:
    provider: str
    goes_to: str
    callback_url: str
    session_id: str | None = None
    user_id: str | None = None
    verifier: str = field(default_factory=_fresh, repr=False)
    """PKCE verifier (RFC 7636)."""
    nonce: str = field(default_factory=_fresh, repr=False)


@dataclass(frozen=True, slots=True)
class Attempts:
    """The pending sign-ins of all browsers. Every method blocks."""

    ledger: Ledger
    clock: Callable[[], datetime]

    def begin(self, attempt: Attempt, state: str, held: str) -> str:
        """Store an attempt for ten minutes; return the new cookie, which binds it to this browser."""
        secret = secrets.token_urlsafe(16)
        data = {**asdict(attempt), "browser": token_hash(secret)}
        self.ledger.tickets.keep(KIND, token_hash(state), data, self.clock() + LIFETIME)
        return ".".join([secret, *_secrets(held)][:MOST])

    def end(self, provider: str, state: str, held: str) -> tuple[Attempt, str]:
        state_hash = token_hash(state)
        found = self.ledger.tickets.read(KIND, state_hash)
        if found is not None and found["provider"] == provider:
            mine = [secret for secret in _secrets(held) if token_hash(secret) == found["browser"]]
            if mine and self.ledger.tickets.take(KIND, state_hash) is not None:
                attempt = Attempt(**{name: value for name, value in found.items() if name != "browser"})  # type: ignore[arg-type]
                return attempt, ".".join(secret for secret in _secrets(held) if secret not in mine)
        raise InvalidRequest(
            "This sign-in did not begin in this browser, took longer than ten minutes, or has ended.",
            code="oauth_state_invalid",
            remediation="Begin the sign-in again.",
            details={"field": "query.state"},
        )


def _secrets(held: str) -> list[str]:
    return [secret for secret in held[:1024].split(".") if _SECRET.fullmatch(secret)][:MOST]
