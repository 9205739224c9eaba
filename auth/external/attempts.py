"""Sign-ins on their way: what the start of one leaves for its end, for one browser, once."""

import re
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from auth.one_time import token_hash
from stores.errors import InvalidRequest
from stores.ledger import Ledger

KIND = "oauth_state"
LIFETIME = timedelta(minutes=10)
MOST = 4
"""Sign-ins that one browser can have on their way, in several tabs."""
_SECRET = re.compile(r"[A-Za-z0-9_-]{22}")


def _fresh() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sign-in that began and has not ended."""

    provider: str
    """`codehost`, or `oidc:` and the provider's name."""
    goes_to: str
    """Where the browser goes in the end; checked before."""
    callback_url: str
    """Where the provider sends the browser; said again when the code is exchanged."""
    session_id: str | None = None
    """The session that a silent refresh replaces; None where somebody signs in."""
    user_id: str | None = None
    """Whose session that is."""
    verifier: str = field(default_factory=_fresh, repr=False)
    """The secret of PKCE (RFC 7636)."""
    nonce: str = field(default_factory=_fresh, repr=False)


@dataclass(frozen=True, slots=True)
class Attempts:
    """The attempts of all browsers. Every method blocks: call it in a worker thread."""

    ledger: Ledger
    clock: Callable[[], datetime]

    def begin(self, attempt: Attempt, state: str, held: str) -> str:
        """Keep an attempt for ten minutes; return the cookie for the browser, whose cookie was `held` before.

        The cookie holds a secret for each attempt, so that a state alone, in a link that somebody sends, is no use.
        """
        secret = secrets.token_urlsafe(16)
        data = {**asdict(attempt), "browser": token_hash(secret)}
        self.ledger.tickets.keep(KIND, token_hash(state), data, self.clock() + LIFETIME)
        return ".".join([secret, *_secrets(held)][:MOST])

    def end(self, provider: str, state: str, held: str) -> tuple[Attempt, str]:
        """Spend the attempt that a state stands for; return it, and what the browser's cookie is now.

        Raises:
            InvalidRequest: `oauth_state_invalid`: it began in another browser or with another provider, is over, or
                was spent.
        """
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
    """The secrets in a cookie; what is none is left out."""
    return [secret for secret in held[:1024].split(".") if _SECRET.fullmatch(secret)][:MOST]
