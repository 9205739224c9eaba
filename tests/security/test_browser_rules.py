"""What answers tell browsers: guess no types, frame nothing, keep no tokens, and come back encrypted."""

from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest

from tests.people import PASSWORD, Person
from tests.rest_bridge.harness import opened, settings_at
from tests.security.harness import World, bearer, world_of

pytestmark = pytest.mark.anyio

EVERYWHERE = [
    ("GET", "/api/auth/me", 200), ("GET", "/api/health", 200), ("GET", "/api/docs", 200),
    ("GET", "/api/openapi.json", 200), ("GET", "/metrics", 200),
    ("GET", "/.well-known/oauth-protected-resource/mcp", 200), ("GET", "/api", 307), ("GET", "/nowhere", 404),
    ("PUT", "/api/entities", 405), ("POST", "/api/search", 422), ("POST", "/api/auth/api-keys", 422),
    ("DELETE", "/api/entities/x", 404), ("POST", "/mcp", 400),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status"), EVERYWHERE)
async def test_every_answer_carries_the_rules(world: World, ada: Person, method: str, path: str, status: int) -> None:
    answer = await world.http.request(method, path, headers=bearer(ada.token), json={} if method == "POST" else None)
    assert answer.status_code == status, answer.text
    headers = answer.headers
    assert headers.get_list("x-content-type-options") == ["nosniff"]
    assert headers.get_list("content-security-policy")[0].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["referrer-policy"] in ("no-referrer", "same-origin")
    assert "strict-transport-security" not in headers, "this server is not behind HTTPS"
    assert not {"server", "x-powered-by", "via"} & set(headers)


async def test_what_is_refused_before_it_is_a_request_carries_them_too(world: World) -> None:
    async with await anyio.connect_tcp("127.0.0.1", world.port) as stream:
        await stream.send(b"NONSENSE\r\n\r\n")
        head = (await stream.receive()).lower()
    assert b"x-content-type-options: nosniff\r\n" in head
    assert b"frame-ancestors 'none'" in head


async def test_answers_with_tokens_are_kept_by_nobody(world: World, ada: Person) -> None:
    email = f"{world.app.new_id('new')}@example.org"
    account = {"email": email, "password": PASSWORD, "name": "N"}
    made = await world.post("/api/auth/local/signup", account)
    token = made.json()["access_token"]
    answers = [
        made,
        await world.post("/api/auth/local/login", account),
        await world.post("/api/auth/api-keys", {"name": "k"}, token),
        await world.post("/api/auth/refresh", {"refresh_token": made.json()["refresh_token"]}),
        await world.post("/api/orgs", {"name": "O"}, ada.token),
        await world.post("/api/auth/refresh", {"refresh_token": "x"}),
        await world.send("GET", "/api/auth/me", token="x"),
        await world.send("GET", "/api/users/me/sessions", token=ada.token),
    ]
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}
    for answer in answers[:4]:
        assert "etag" not in answer.headers


@pytest.fixture(scope="module")
async def behind_https(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    settings = settings_at(tmp_path_factory.mktemp("tls"), base_url="https://engrain.example", rate_limit_enabled=False)
    async with opened(settings) as app, world_of(app) as world:
        yield world


async def test_behind_https_browsers_are_told_to_keep_to_it(behind_https: World) -> None:
    account = {"email": "ada@example.org", "password": PASSWORD, "name": "N"}
    made: httpx2.Response = await behind_https.post("/api/auth/local/signup", account)
    assert made.status_code == 201
    for answer in (made, await behind_https.send("GET", "/nowhere"), await behind_https.send("GET", "/api/docs")):
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
    lines = made.headers.get_list("set-cookie")
    assert len(lines) == 2
    for line in lines:
        rules = {part.strip().lower() for part in line.split(";")[1:]}
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= rules
        assert not [rule for rule in rules if rule.startswith("domain")], "no other host gets it"
