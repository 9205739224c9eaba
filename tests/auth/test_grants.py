"""What MCP clients are granted: codes and tokens that hold once, for one client, one person and one address."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from auth.grants import GRANT_LIFETIME, OAuthRefused, check_redirect_uri, checked_metadata, registered_uri
from tests.auth.conftest import DAY, Place
from tests.rest_bridge.oauth.flow import CALLBACK


def refused(code: str) -> Any:
    return pytest.raises(OAuthRefused, check=lambda error: error.code == code)


def test_no_code_token_or_secret_is_stored(place: Place, tmp_path: Path) -> None:
    code = place.code()
    issued = place.redeem(code)
    described = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"}
    client, secret = place.accounts.grants.register(described)
    stored = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert client.id.encode() in stored
    for text in (code, issued.access_token, issued.refresh_token, secret):
        assert text is not None
        assert text.encode() not in stored
        assert text[-43:].encode() not in stored


def test_a_grant_ends_for_good_however_often_its_client_comes_back(place: Place) -> None:
    issued = place.redeem(place.code())
    ends = place.now + GRANT_LIFETIME
    while place.now + 29 * DAY < ends:
        place.now += 29 * DAY
        issued = place.refresh(issued.refresh_token)
    assert issued.grant.expires_at == ends
    assert place.holds(issued.access_token)
    place.now = ends
    assert not place.holds(issued.access_token)
    with refused("invalid_grant"):
        place.refresh(issued.refresh_token)


def test_a_client_that_asked_for_no_refresh_tokens_has_none(place: Place) -> None:
    place.client = place.register(grant_types=["authorization_code"])
    issued = place.redeem(place.code())
    assert issued.refresh_token is None
    assert issued.grant.expires_at == place.now + timedelta(hours=1)


@pytest.mark.parametrize(
    "uri",
    [
        "https://app.example/callback?x=1", "https://app.example:8443/cb", "https://[2001:db8::1]/cb",
        "http://127.0.0.1/cb", "http://127.0.0.1:4000/cb", "http://localhost:65535", "http://[::1]:1/cb",
        "cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/oauth",
    ],
)  # fmt: skip
def test_an_address_that_a_program_can_own_is_accepted(uri: str) -> None:
    check_redirect_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "", "http://app.example/cb", "http://127.0.0.1.evil.example/cb", "http://127.0.0.1@evil.example/cb",
        "http://localhost:0/cb", "http://localhost:65536/cb", "http://localhost:/cb",
        "http://localhost.evil.example/cb", "http://127.0.0.2:80\\@evil.example/", "https://user@app.example/cb",
        "https://app.example/cb#fragment", "https://", "https:///cb", "https://app.example:port/cb",
        "https://app.example:/cb", "https://*.example/cb", "https://app.example\\@evil.example/",
        "https://app.example/a b", "https://app.example/\n", "https://äpp.example/", "javascript:alert(1)",
        "javascript://app.example/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "JAVASCRIPT://x",
        "localhost:4000/cb", "//app.example/cb", "/cb", "https://a/" + "a" * 1000, "https://" + "a" * 300 + "!",
    ],
)  # fmt: skip
def test_any_other_address_is_refused(uri: str) -> None:
    with refused("invalid_redirect_uri"):
        check_redirect_uri(uri)


@pytest.mark.parametrize(
    ("registered", "asked", "found"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", True),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:2/cb", True),
        ("http://[::1]:1/cb", "http://[::1]/cb", True),
        ("http://localhost/cb?x=1", "http://localhost:9/cb?x=1", True),
        ("http://127.0.0.1/cb", "http://127.0.0.1:0/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb", False),
        ("http://127.0.0.1/cb", "http://localhost/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb/", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb?x", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb", False),
        ("http://127.0.0.1/cb", "HTTP://127.0.0.1/cb", False),
        ("https://app.example/cb", "https://app.example/cb", True),
        ("https://app.example/cb", "https://app.example:8443/cb", False),
        ("https://app.example/cb", "https://app.example/cb/../x", False),
        ("https://app.example/cb", "https://APP.example/cb", False),
        ("https://app.example/cb", "https://app.example/CB", False),
        ("https://app.example/cb", "https://app.example/cb?code=1", False),
    ],
)
def test_a_redirect_uri_is_compared_letter_by_letter_but_for_the_port_of_loopback(
    place: Place, registered: str, asked: str, found: bool
) -> None:
    client = place.register(redirect_uris=[registered])
    assert registered_uri(client, asked) == (asked if found else None)


@pytest.mark.parametrize(
    ("described", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": [f"http://127.0.0.1/{n}" for n in range(11)]}, "invalid_redirect_uri"),
        ({"redirect_uris": CALLBACK}, "invalid_client_metadata"),
        ({"redirect_uris": [1]}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "grant_types": ["implicit"]}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "grant_types": "authorization_code"}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "response_types": ["token"]}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "client_name": "x" * 101}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "client_name": "a\u202eb"}, "invalid_client_metadata"),
        ({"redirect_uris": [CALLBACK], "client_name": 7}, "invalid_client_metadata"),
    ],
)
def test_a_client_that_does_not_fit_is_not_registered(described: dict[str, Any], error: str) -> None:
    with refused(error):
        checked_metadata(described)
