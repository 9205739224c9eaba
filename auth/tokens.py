"""Access and refresh tokens (JWT), and random tokens with their hashes."""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from stores.errors import AuthenticationRequired
from stores.records import Session

TokenType = Literal["access", "refresh"]
_REQUIRED: dict[TokenType, list[str]] = {
    "access": ["sub", "typ", "iat", "exp"],
    "refresh": ["sub", "typ", "iat", "exp", "sid", "jti"],
}


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims of a valid token. Roles come from the ledger."""

    user_id: str
    organization_id: str | None
    session_id: str | None
    token_id: str | None
    expires_at: int
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Tokens:
    secret: str
    algorithm: str
    access_lifetime: timedelta
    refresh_lifetime: timedelta
    clock: Callable[[], datetime]

    @staticmethod
    def load() -> None:
        import jwt  # noqa: F401, PLC0415 - see below

    def access(self, session: Session, lifetime: timedelta | None = None) -> str:
        return self._sign(session, {"typ": "access"}, lifetime or self.access_lifetime)

    def refresh(self, session: Session) -> str:
        return self._sign(session, {"typ": "refresh", "jti": session.refresh_id}, self.refresh_lifetime)

    def seconds_left(self, token: str) -> int:
        """Return the seconds until expiry, without checking the signature."""
        import jwt  # noqa: PLC0415 - as below

        ends = jwt.decode(token, options={"verify_signature": False})["exp"]
        return max(0, int(ends) - int(self.clock().timestamp()))

    def _sign(self, session: Session, claims: dict[str, str], lifetime: timedelta) -> str:
        import jwt  # noqa: PLC0415 - it brings in cryptography, which takes longer than opening a ledger

        now = self.clock()
        ends = min(now + lifetime, session.expires_at)
        whose = {"sub": session.user_id, "org": session.organization_id, "sid": session.id}
        times = {"iat": int(now.timestamp()), "exp": int(ends.timestamp())}
        return jwt.encode({**claims, **whose, **times}, self.secret, algorithm=self.algorithm)

    def read(self, token: str, kind: TokenType) -> Claims:
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


def new_token() -> tuple[str, str]:
    """Make a token of 256 random bits; return it with its hash."""
    token = secrets.token_urlsafe(32)
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """Plain SHA-256: 256 random bits need no salt or slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def keyed_hash(secret: str, purpose: bytes, text: str) -> str:
    """Hash with a key derived from the server's secret for one purpose."""
    key = hmac.digest(secret.encode(), purpose, hashlib.sha256)
    return hmac.new(key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()
