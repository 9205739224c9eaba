import asyncio
import json
from urllib.parse import urljoin

import pytest
from starlette.types import Message, Receive, Scope, Send
from structlog.testing import capture_logs

from rest_bridge.envelope import Faults, status_of
from rest_bridge.metrics import RequestIds
from stores.errors import InvalidSetting, NotFound, RateLimited
from tests.rest_bridge.harness import BASE, Client, Person, assert_envelope

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", ["/nope", "/api/nope", "/api/notes/a/b", "/%00", "/%ff%fe", "//api/notes"])
async def test_an_unknown_path_is_not_found(client: Client, path: str) -> None:
    assert "details" not in assert_envelope(await client.get(path), 404, "not_found")


@pytest.mark.parametrize(("path", "meant"), [("/api", "/api/"), ("/api/notes/", "/api/notes")])
async def test_a_slash_too_many_or_too_few_is_redirected(client: Client, path: str, meant: str) -> None:
    response = await client.post(path, json={})
    assert response.status_code == 307, "which keeps the method and the body"
    assert urljoin(f"{BASE}{path}", response.headers["location"]) == BASE + meant


async def test_a_redirect_keeps_the_query_and_leads_nowhere_else(client: Client) -> None:
    response = await client.get("/api/notes/?page=2&tags=a%26b", headers={"Host": "evil.example"})
    assert (response.status_code, response.headers["location"]) == (307, "../notes?page=2&tags=a%26b")
    for path in ("//evil.example/", "///api/notes/", "/api/nope/"):
        assert_envelope(await client.get(f"{BASE}{path}"), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/api/notes", "GET, HEAD, POST"),
        ("DELETE", "/api/notes", "GET, HEAD, POST"),
        ("OPTIONS", "/api/notes", "GET, HEAD, POST"),
        ("POST", "/api/notes/n1", "DELETE, GET, HEAD, PATCH"),
        ("TRACE", "/api/say", "POST"),
        ("GET", "/api/say", "POST"),
        ("POST", "/api/health", "GET, HEAD"),
        ("PROPFIND", "/api/openapi.json", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(client: Client, method: str, path: str, allow: str) -> None:
    response = await client.request(method, path)
    assert_envelope(response, 405, "method_not_allowed")
    assert response.headers["allow"] == allow


async def test_a_request_that_the_end_of_the_server_cuts_short_is_refused_in_words() -> None:
    sent: list[Message] = []
    working = asyncio.Event()

    async def work(_scope: Scope, _receive: Receive, _send: Send) -> None:
        working.set()
        await asyncio.sleep(60)

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError

    asgi = RequestIds(Faults(work))
    scope = {"type": "http", "method": "POST", "path": "/api/notes", "headers": []}
    request = asyncio.create_task(asgi(scope, receive, send))
    await working.wait()
    request.cancel()
    await request
    body = json.loads(sent[1]["body"])
    assert (sent[0]["status"], body["error"]) == (503, "unavailable")
    assert (b"x-request-id", body["request_id"].encode()) in sent[0]["headers"]


async def test_an_unexpected_error_is_logged_once_and_told_to_nobody(client: Client, ada: Person) -> None:
    with capture_logs() as lines:
        response = await client.post("/api/break", json={}, headers={**ada.bearer, "X-Request-ID": "find-me"})
    body = assert_envelope(response, 500, "internal_error")
    assert "hunter2" not in response.text
    assert body["request_id"] == "find-me"
    faults = [line for line in lines if line["event"] == "internal_error"]
    assert len(faults) == 1
    assert faults[0]["exc_info"]
    assert faults[0]["organization_id"] == ada.organization_id


async def test_what_is_not_there_now_is_a_503_and_a_limit_says_when_to_come_back(client: Client, ada: Person) -> None:
    response = await client.post("/api/break", json={"text": "unavailable"}, headers=ada.bearer)
    assert assert_envelope(response, 503, "unavailable")["message"] == "The disk is gone."
    response = await client.post("/api/break", json={"text": "limited"}, headers=ada.bearer)
    assert_envelope(response, 429, "rate_limited")
    assert int(response.headers["retry-after"]) >= 1


async def test_a_missing_token_is_told_how_to_sign_in(client: Client) -> None:
    response = await client.get("/api/notes")
    assert "Log in" in assert_envelope(response, 401, "authentication_required")["remediation"]
    assert response.headers["www-authenticate"] == "Bearer"


def test_an_error_that_is_not_in_the_table_has_the_status_of_its_parent() -> None:
    class MissingPage(NotFound):
        """A kind of not found."""

    assert status_of(MissingPage("page 7")) == 404
    assert status_of(RateLimited("no", retry_after_s=3)) == 429
    assert status_of(InvalidSetting("never at run time")) == 500


MISHOSTED = [
    ("GET", "/nope", 404),
    ("PUT", "/api/notes", 405),
    ("POST", "/mcp", 421),
    ("GET", "/api", 307),
    ("GET", "/.well-known/oauth-protected-resource/mcp", 421),
]


@pytest.mark.parametrize("host", ["[", "a b", "x@y", '"', "", "[::1]:port", "%zz"])
@pytest.mark.parametrize(("method", "path", "status"), MISHOSTED)
async def test_a_malformed_host_is_no_error(client: Client, host: str, method: str, path: str, status: int) -> None:
    response = await client.request(method, path, headers={"Host": host})
    assert response.status_code == status
