"""Tokens carry the claims of the interface and hold only when everything fits."""

from datetime import UTC, datetime, timedelta

import jwt

from auth.tokens import Tokens

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "s" * 32


def tokens(now: datetime = NOW, secret: str = SECRET) -> Tokens:
    return Tokens(secret, "HS256", timedelta(minutes=60), timedelta(days=30), lambda: now)


def test_tokens_carry_exactly_the_specified_claims() -> None:
    access = jwt.decode(tokens().access("u", "o", "s"), options={"verify_signature": False})
    refresh = jwt.decode(tokens().refresh("u", "o", "s", "j"), options={"verify_signature": False})
    assert set(access) == {"sub", "org", "sid", "typ", "iat", "exp"}
    assert set(refresh) == {"sub", "org", "sid", "typ", "jti", "iat", "exp"}
    assert (access["typ"], access["exp"] - access["iat"]) == ("access", 3600)
    assert (refresh["typ"], refresh["exp"] - refresh["iat"]) == ("refresh", 30 * 86400)
