"""Tokens carry the claims of the interface and hold only when everything fits."""

from datetime import UTC, datetime, timedelta

import jwt

from auth.tokens import Tokens
from stores.records import Session

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "s" * 32
SESSION = Session("s", "u", "o", "j", NOW, NOW + timedelta(days=90), None)


def tokens(now: datetime = NOW, secret: str = SECRET) -> Tokens:
    return Tokens(secret, "HS256", timedelta(minutes=60), timedelta(days=30), lambda: now)


def test_tokens_carry_exactly_the_specified_claims() -> None:
    access = jwt.decode(tokens().access(SESSION), options={"verify_signature": False})
    refresh = jwt.decode(tokens().refresh(SESSION), options={"verify_signature": False})
    assert set(access) == {"sub", "org", "sid", "typ", "iat", "exp"}
    assert set(refresh) == {"sub", "org", "sid", "typ", "jti", "iat", "exp"}
    assert (access["typ"], access["exp"] - access["iat"]) == ("access", 3600)
    assert (refresh["typ"], refresh["exp"] - refresh["iat"]) == ("refresh", 30 * 86400)
