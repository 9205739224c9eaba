import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rest_bridge.application import build_asgi
from tests.rest_bridge.harness import Client, Person, assert_envelope, client_of, opened, settings_at, sign_up
from tests.rest_bridge.notes import Notes

pytestmark = pytest.mark.anyio

HERE = "http://127.0.0.1:8420"
REFRESH = {"Cookie": "engrain_refresh_token=good"}


def cookie(person: Person, **headers: str) -> dict[str, str]:
    return {"Cookie": f"engrain_access_token={person.token}", **headers}


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin", "Origin": HERE}, {"Origin": HERE}, {},
    ],
    ids=["same-origin", "typed", "both", "origin", "no browser"],
)  # fmt: skip
async def test_our_own_pages_may_write_with_the_cookie(client: Client, ada: Person, headers: dict[str, str]) -> None:
    response = await client.post("/api/notes", json={"text": "x"}, headers=cookie(ada, **headers))
    assert response.status_code == 201


async def test_our_origin_does_not_outweigh_what_the_browser_says(client: Client, ada: Person, notes: Notes) -> None:
    headers = cookie(ada, Origin=HERE, **{"Sec-Fetch-Site": "cross-site"})
    response = await client.post("/api/notes", json={"text": "x"}, headers=headers)
    assert_envelope(response, 403, "cross_origin_refused")
    assert not notes.kept


async def test_a_bearer_header_is_enough_from_anywhere(client: Client, ada: Person) -> None:
    headers = {**ada.bearer, "Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    response = await client.post("/api/notes", json={"text": "x"}, headers=headers)
    assert response.status_code == 201


async def test_tokens_come_as_cookies_that_scripts_cannot_read(client: Client) -> None:
    response = await client.post("/api/refresh", json={"refresh_token": "good"})
    body, set_cookies = response.json(), response.headers.get_list("set-cookie")
    for line, kind, lifetime in zip(set_cookies, ("access", "refresh"), (600, 6_000), strict=True):
        token = body[f"{kind}_token"]
        held = re.fullmatch(rf"engrain_{kind}_token=(.*); HttpOnly; Max-Age=(\d+); Path=/; SameSite=lax", line)
        assert held is not None, line
        assert (held[1], lifetime - 30 <= int(held[2]) <= lifetime) == (token, True)


async def test_the_refresh_cookie_stands_in_for_the_token(client: Client) -> None:
    assert (await client.post("/api/refresh", headers=REFRESH)).status_code == 200
    assert (await client.post("/api/refresh", json={"refresh_token": None}, headers=REFRESH)).status_code == 200


async def test_the_body_wins_over_the_refresh_cookie(client: Client) -> None:
    response = await client.post("/api/refresh", json={"refresh_token": "bad"}, headers=REFRESH)
    assert_envelope(response, 401, "authentication_required")
    assert "set-cookie" not in response.headers


async def test_cookies_that_do_not_hold_are_taken_away(client: Client) -> None:
    response = await client.post("/api/refresh", headers={"Cookie": "engrain_refresh_token=spent"})
    assert_envelope(response, 401, "authentication_required")
    assert all("Max-Age=0" in line for line in response.headers.get_list("set-cookie"))


@pytest.fixture
async def public(tmp_path: Path) -> AsyncIterator[tuple[Client, Person]]:
    settings = settings_at(tmp_path, environment="production", cors_origins=("https://app.example",))
    async with opened(settings) as app, client_of(build_asgi(app, Notes().operations())) as client:
        yield client, sign_up(app)


async def test_cookies_are_secure_in_production(public: tuple[Client, Person]) -> None:
    client, _ = public
    response = await client.post("/api/refresh", json={"refresh_token": "good"})
    assert all("; Secure" in line for line in response.headers.get_list("set-cookie"))


async def test_cookies_are_secure_over_https(client: Client) -> None:
    response = await client.post("https://127.0.0.1:8420/api/refresh", json={"refresh_token": "good"})
    assert all("; Secure" in line for line in response.headers.get_list("set-cookie"))


async def test_a_trusted_origin_may_write_with_the_cookie(public: tuple[Client, Person]) -> None:
    client, ada = public
    headers = cookie(ada, Origin="https://app.example", **{"Sec-Fetch-Site": "same-site"})
    response = await client.post("/api/notes", json={"text": "x"}, headers=headers)
    assert response.status_code == 201
    assert response.headers["access-control-allow-origin"] == "https://app.example"
    assert response.headers["access-control-allow-credentials"] == "true"


async def test_a_preflight_of_another_origin_is_not_granted(public: tuple[Client, Person]) -> None:
    client, _ = public
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    granted = await client.options("/api/notes", headers={"Origin": "https://app.example", **asked})
    refused = await client.options("/api/notes", headers={"Origin": "https://evil.example", **asked})
    assert granted.status_code == 200
    assert granted.headers["access-control-allow-origin"] == "https://app.example"
    assert granted.headers["x-request-id"]
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers
