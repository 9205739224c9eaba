"""Tokens carry the claims of the interface and hold only when everything fits."""

from datetime import UTC, datetime, timedelta

import jwt
import pytest

from auth.tokens import Tokens
from stores.errors import AuthenticationRequired

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


def test_a_token_reads_back_as_what_it_was_made_from() -> None:
    claims = tokens().read(tokens().refresh("u", "o", "s", "j"), "refresh")
    assert (claims.user_id, claims.organization_id, claims.session_id, claims.token_id) == ("u", "o", "s", "j")


def forged(**changes: object) -> str:
    claims = {"sub": "u", "org": "o", "sid": "s", "typ": "access", "iat": 1, "exp": int(NOW.timestamp()) + 60}
    return jwt.encode({**claims, **changes}, SECRET, algorithm="HS256")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "not a token",
        tokens(secret="t" * 32).access("u", "o", "s"),
        tokens(NOW - timedelta(hours=1)).access("u", "o", "s"),
        tokens().refresh("u", "o", "s", "j"),
        jwt.encode({"sub": "u", "typ": "access", "iat": 1, "exp": 9**12}, None, algorithm="none"),
        jwt.encode({"sub": "u", "typ": "access", "iat": 1, "exp": 9**12}, "s" * 64, algorithm="HS512"),
        forged(typ="refresh"),
        forged(org=["o"]),
        forged(exp="never"),
    ],
    ids=["empty", "garbage", "foreign secret", "expired", "wrong type", "none", "other algorithm", "typ", "org", "exp"],
)
def test_anything_else_is_refused(token: str) -> None:
    with pytest.raises(AuthenticationRequired):
        tokens().read(token, "access")
