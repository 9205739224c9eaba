"""What needs no provider: where a browser may go, what claims mean, how long an attempt lasts."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.external.addresses import Destinations, is_safe_to_call
from auth.external.attempts import LIFETIME, Attempt, Attempts
from auth.external.provider import OidcProvider
from auth.external.vouched import role_of, vouched
from stores.clock import utc_now
from stores.errors import AuthenticationRequired, Forbidden, InvalidRequest
from stores.ledger import Ledger
from tests.ledgers import new_ledger

FRONTEND = "https://app.example.com/ui"
PROVIDER = OidcProvider(
    name="acme", label="Acme", issuer="https://id.acme.example", client_id="engrain", client_secret=None,
    organization_slug="acme", scopes=("openid",), role_claim="roles", role_prefix="Engrain", silent_refresh=False,
    session_minutes=60,
)  # fmt: skip
ENTRA = replace(PROVIDER, issuer="https://login.microsoftonline.com/tenant-1/v2.0")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, FRONTEND),
        ("", FRONTEND),
        ("/", "/"),
        ("/tasks?open=1&q=a%20b#top", "/tasks?open=1&q=a%20b#top"),
        ("/größe", "/gr%C3%B6%C3%9Fe"),
        ('/"<>', "/%22%3C%3E"),
        ("https://app.example.com", "https://app.example.com/"),
        ("https://APP.example.com:443/a", "https://app.example.com/a"),
        ("HTTPS://app.example.com/a?b#c", "https://app.example.com/a?b#c"),
        ("https://app.example.com//evil.example", "https://app.example.com//evil.example"),
        (f"{FRONTEND}@evil.example", f"{FRONTEND}@evil.example"),
    ],
    ids=str,
)
def test_a_browser_may_return_to_this_server_and_to_the_frontend(wanted: str | None, found: str) -> None:
    assert Destinations(FRONTEND).checked(wanted, "query.next") == found


def test_without_a_frontend_only_paths_are_places() -> None:
    assert Destinations(None).checked(None, "query.next") == "/"
    assert Destinations(None).log_in("login_required", "/a?b") == "/login?error=login_required&next=%2Fa%3Fb"
    for wanted in ("https://app.example.com/", "http://127.0.0.1/", "a", "/" + "x" * 16_384):
        with pytest.raises(InvalidRequest):
            Destinations(None).checked(wanted, "query.next")


@given(
    st.sampled_from(["", "/", "https://", "https://app.example.com", "https://app.example.com/", "HTTPS:\\"]),
    st.text(st.sampled_from("/\\:@#?.%\t\n\r\x00 evilhtps[]1é\u3002\uff0f\uff20"), max_size=20),
)
def test_whatever_is_asked_for_stays_here_or_at_the_frontend(begin: str, rest: str) -> None:
    """Read like a browser (WHATWG URL): controls dropped, a backslash is a slash, two slashes begin a host."""
    try:
        found = Destinations(FRONTEND).checked(begin + rest, "query.next")
    except InvalidRequest:
        return
    assert found.isascii()
    assert found.isprintable()
    seen = found.replace("\\", "/")
    assert (seen.startswith("/") and not seen.startswith("//")) or seen.startswith("https://app.example.com/")


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://id.acme.example/a", True), ("http://127.0.0.1:9/a", True), ("http://[::1]/", True),
        ("http://localhost/", True), ("http://id.acme.example/", False),
        ("http://127.0.0.1.evil.example/", False),
        ("https://user@id.acme.example/", False),
        ("https://id.acme.example/#fragment", False),
        ("https://id.acme.example:0/", False),
        ("https://idé.example/", False),
        ("ftp://id.acme.example/", False), ("https://", False), ("https:///path", False),
        ("https://id.acme.example/ ", False),
        (None, False),
        (7, False),
    ],
    ids=str,
)  # fmt: skip
def test_secrets_travel_encrypted_or_stay_on_this_machine(address: object, safe: bool) -> None:
    assert is_safe_to_call(address) is safe


def test_a_subject_is_told_with_its_issuer() -> None:
    assert vouched(PROVIDER, {"sub": "a"}).subject == "oidc:https://id.acme.example:a"
    assert vouched(ENTRA, {"sub": "a", "tid": "t", "oid": "o"}).subject == f"oidc:{ENTRA.issuer}:t:o"


@pytest.mark.parametrize(
    ("provider", "claims"),
    [(PROVIDER, {}), (PROVIDER, {"sub": 7}), (ENTRA, {"sub": "a", "tid": "t"}), (ENTRA, {"sub": "a", "oid": "o"})],
    ids=["none", "number", "no oid", "no tid"],
)
def test_an_incomplete_subject_is_nobody(provider: OidcProvider, claims: dict[str, Any]) -> None:
    with pytest.raises(AuthenticationRequired) as refused:
        vouched(provider, claims)
    assert (refused.value.code, refused.value.word) == ("authentication_required", "oidc_subject_incomplete")


def test_the_prefix_of_roles_is_configurable() -> None:
    other = replace(PROVIDER, role_prefix="Memory")
    assert role_of(other, {"roles": ["Memory.Admin", "Engrain.Owner"]}) == "admin"
    with pytest.raises(Forbidden):
        role_of(other, {"roles": ["Engrain.Owner"]})


def test_what_cannot_be_shown_is_left_out_of_a_profile() -> None:
    person = vouched(PROVIDER, {"sub": "a", "name": " \u0000\u202e ", "preferred_username": "Ada\n", "picture": "x:y"})
    assert (person.name, person.avatar_url, person.email) == ("Ada", None, None)
    assert vouched(PROVIDER, {"sub": "a", "name": "x" * 999}).name == "x" * 200


def test_an_attempt_holds_for_ten_minutes(tmp_path: Path) -> None:
    now = utc_now()
    ledger = Ledger.open(new_ledger(tmp_path), clock=lambda: now)
    attempts = Attempts(ledger, lambda: now)
    attempt = Attempt("codehost", "/", "http://127.0.0.1/callback")
    cookie = attempts.begin(attempt, "state", "")
    assert attempt.verifier not in repr(attempt)
    for later, holds in ((LIFETIME - timedelta(seconds=1), True), (timedelta(seconds=1), False)):
        now += later
        if holds:
            cookie = attempts.begin(attempt, "another", cookie)
            assert attempts.end("codehost", "state", cookie)[0] == attempt
            attempts.begin(attempt, "late", cookie)
            now += LIFETIME
    with pytest.raises(InvalidRequest):
        attempts.end("codehost", "late", cookie)
    ledger.close()
