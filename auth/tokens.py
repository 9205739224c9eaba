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

    def access(
        self,
        user_id: str,
        organization_id: str,
        session_id: str,
        lifetime: timedelta | None = None,
        until: datetime | None = None,
    ) -> str:
        """Make a short-lived access token.

        It lasts as long as the settings say, or for a lifetime of its own; never beyond `until`, the session's end.
        """
        subject = (user_id, organization_id, session_id)
        return self._sign("access", subject, lifetime or self.access_lifetime, until, {})

    def refresh(
        self, user_id: str, organization_id: str, session_id: str, token_id: str, until: datetime | None = None
    ) -> str:
        """Make a refresh token that ends with the settings' lifetime, or at `until` if that is sooner.

        `token_id` becomes its `jti`.
        """
        subject = (user_id, organization_id, session_id)
        return self._sign("refresh", subject, self.refresh_lifetime, until, {"jti": token_id})

    def seconds_left(self, token: str) -> int:
        """Return for how long a token that was just made here holds; its signature is not checked."""
        import jwt  # noqa: PLC0415 - as below

        ends = jwt.decode(token, options={"verify_signature": False})["exp"]
        return max(0, int(ends) - int(self.clock().timestamp()))

    def _sign(
        self,
        kind: TokenType,
        subject: tuple[str, str, str],
        lifetime: timedelta,
        until: datetime | None,
        more: dict[str, str],
    ) -> str:
        now = self.clock()
        ends = now + lifetime if until is None else min(now + lifetime, until)
        user_id, organization_id, session_id = subject
        claims: dict[str, object] = {
            "sub": user_id,
            "org": organization_id,
            "sid": session_id,
            "typ": kind,
            "iat": int(now.timestamp()),
            "exp": int(ends.timestamp()),
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
