import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rest_bridge.application import build_asgi
from tests.people import PASSWORD
from tests.rest_bridge.harness import Client, Person, assert_envelope, client_of, opened, settings_at, sign_up
from tools.app import App

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]

HERE = "http://127.0.0.1:8420"
REFRESH = "/api/auth/refresh"
ACCOUNT = {"email": "grace@example.org", "password": PASSWORD, "name": "Grace"}


@pytest.fixture
def refresh_token(app: App, ada: Person) -> str:
    user = app.ledger.people.user(ada.user_id)
    assert user is not None
    return app.accounts.start(user).refresh_token


def held(token: str) -> dict[str, str]:
    return {"Cookie": f"engrain_refresh_token={token}"}


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
    response = await client.post("/api/entities", json={"name": "x"}, headers=cookie(ada, **headers))
    assert response.status_code == 201


async def test_our_origin_does_not_outweigh_what_the_browser_says(client: Client, ada: Person) -> None:
    headers = cookie(ada, Origin=HERE, **{"Sec-Fetch-Site": "cross-site"})
    response = await client.post("/api/entities", json={"name": "x"}, headers=headers)
    assert_envelope(response, 403, "cross_origin_refused")
    assert (await client.get("/api/entities", headers=ada.bearer)).json()["total"] == 0


async def test_a_bearer_header_is_enough_from_anywhere(client: Client, ada: Person) -> None:
    headers = {**ada.bearer, "Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    response = await client.post("/api/entities", json={"name": "x"}, headers=headers)
    assert response.status_code == 201


async def test_tokens_come_as_cookies_that_scripts_cannot_read(client: Client, refresh_token: str) -> None:
    response = await client.post(REFRESH, json={"refresh_token": refresh_token})
    body, set_cookies = response.json(), response.headers.get_list("set-cookie")
    for line, kind, lifetime in zip(set_cookies, ("access", "refresh"), (3_600, 2_592_000), strict=True):
        token = body[f"{kind}_token"]
        found = re.fullmatch(rf"engrain_{kind}_token=(.*); HttpOnly; Max-Age=(\d+); Path=/; SameSite=Lax", line)
        assert found is not None, line
        assert (found[1], lifetime - 30 <= int(found[2]) <= lifetime) == (token, True)


@pytest.mark.parametrize("body", [None, {"refresh_token": None}], ids=["no body", "null"])
async def test_the_refresh_cookie_stands_in_for_the_token(
    client: Client, refresh_token: str, body: dict[str, None] | None
) -> None:
    assert (await client.post(REFRESH, json=body, headers=held(refresh_token))).status_code == 200


async def test_the_body_wins_over_the_refresh_cookie(client: Client, refresh_token: str) -> None:
    response = await client.post(REFRESH, json={"refresh_token": "bad"}, headers=held(refresh_token))
    assert_envelope(response, 401, "authentication_required")
    assert "set-cookie" not in response.headers


async def test_cookies_are_secure_over_https(client: Client, refresh_token: str) -> None:
    response = await client.post(f"https://127.0.0.1:8420{REFRESH}", json={"refresh_token": refresh_token})
    assert [("; Secure" in line) for line in response.headers.get_list("set-cookie")] == [True, True]


@pytest.fixture
async def public(tmp_path: Path) -> AsyncIterator[tuple[Client, Person]]:
    settings = settings_at(tmp_path, environment="production", cors_origins=("https://app.example",))
    async with opened(settings) as app, client_of(build_asgi(app)) as client:
        yield client, sign_up(app)


async def test_cookies_are_secure_in_production(public: tuple[Client, Person]) -> None:
    client, _ = public
    response = await client.post("/api/auth/local/signup", json=ACCOUNT)
    assert [("; Secure" in line) for line in response.headers.get_list("set-cookie")] == [True, True]


async def test_a_trusted_origin_may_write_with_the_cookie(public: tuple[Client, Person]) -> None:
    client, ada = public
    headers = cookie(ada, Origin="https://app.example", **{"Sec-Fetch-Site": "same-site"})
    response = await client.post("/api/entities", json={"name": "x"}, headers=headers)
    assert response.status_code == 201
    assert response.headers["access-control-allow-origin"] == "https://app.example"
    assert response.headers["access-control-allow-credentials"] == "true"


async def test_a_preflight_of_another_origin_is_not_granted(public: tuple[Client, Person]) -> None:
    client, _ = public
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    granted = await client.options("/api/entities", headers={"Origin": "https://app.example", **asked})
    refused = await client.options("/api/entities", headers={"Origin": "https://evil.example", **asked})
    assert granted.status_code == 200
    assert granted.headers["access-control-allow-origin"] == "https://app.example"
    assert granted.headers["x-request-id"]
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers
