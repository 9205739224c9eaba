"""Access and refresh tokens: the exact claims of the interface, signed and checked in its order."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stores.errors import AuthenticationRequired

TokenType = Literal["access", "refresh"]
_REQUIRED: dict[TokenType, list[str]] = {
    "access": ["sub", "typ", "iat", "exp"],
    "refresh": ["sub", "typ", "iat", "exp", "sid", "jti"],
}


@dataclass(frozen=True, slots=True)
class Claims:
    """What a valid token says. The role is never in it: it is read from the ledger on each request."""

    user_id: str
    organization_id: str | None
    session_id: str | None
    token_id: str | None
    expires_at: int
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Makes and reads the two kinds of token with one secret and one algorithm."""

    secret: str
    algorithm: str
    access_lifetime: timedelta
    refresh_lifetime: timedelta
    clock: Callable[[], datetime]

    @staticmethod
    def load() -> None:
        """Load the library ahead of the first token."""
        import jwt  # noqa: F401, PLC0415 - see below

    def access(self, user_id: str, organization_id: str, session_id: str, lifetime: timedelta | None = None) -> str:
        """Make a short-lived access token; without a lifetime of its own it has the one of the settings."""
        subject = (user_id, organization_id, session_id)
        return self._sign("access", subject, lifetime or self.access_lifetime, {})

    def refresh(self, user_id: str, organization_id: str, session_id: str, token_id: str) -> str:
        """Make a refresh token; `token_id` becomes its `jti`."""
        subject = (user_id, organization_id, session_id)
        return self._sign("refresh", subject, self.refresh_lifetime, {"jti": token_id})

    def _sign(self, kind: TokenType, subject: tuple[str, str, str], lifetime: timedelta, more: dict[str, str]) -> str:
        now = int(self.clock().timestamp())
        user_id, organization_id, session_id = subject
        claims: dict[str, object] = {
            "sub": user_id,
            "org": organization_id,
            "sid": session_id,
            "typ": kind,
            "iat": now,
            "exp": now + int(lifetime.total_seconds()),
            **more,
        }
        import jwt  # noqa: PLC0415 - it brings in cryptography, which takes longer than opening a ledger

        return jwt.encode(claims, self.secret, algorithm=self.algorithm)

    def read(self, token: str, kind: TokenType) -> Claims:
        """Check signature, expiry and type, in this order.

        Raises:
            AuthenticationRequired: Any of the three does not hold.
        """
        import jwt  # noqa: PLC0415 - as above

        try:
            # `exp` is compared with our own clock below, so that tests can move it.
            claims = jwt.decode(
                token,
                self.secret,
                algorithms=[self.algorithm],
                options={"require": _REQUIRED[kind], "verify_exp": False, "verify_iat": False, "verify_aud": False},
            )
        except jwt.InvalidTokenError:
            raise AuthenticationRequired("The token is not valid.") from None
        if not isinstance(claims["exp"], int) or claims["exp"] <= self.clock().timestamp():
            raise AuthenticationRequired("The token has expired.")
        if claims["typ"] != kind:
            raise AuthenticationRequired(f"This is not {'an access' if kind == 'access' else 'a refresh'} token.")
        names = (claims["sub"], claims.get("org"), claims.get("sid"), claims.get("jti"))
        if any(name is not None and not isinstance(name, str) for name in names):
            raise AuthenticationRequired("The token is not valid.")
        return Claims(*names, expires_at=claims["exp"])
