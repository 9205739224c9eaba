"""MCP over HTTP: tokens, sessions, callers without one, and hosts that are not ours."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from rest_bridge.application import build_asgi
from rest_bridge.mcp_discovery import RESOURCE_METADATA_PATHS, SERVER_METADATA_PATHS
from rest_bridge.mcp_mount import RECHECK_S
from tests.rest_bridge.harness import (
    BASE,
    Client,
    Person,
    assert_envelope,
    client_of,
    opened,
    serving,
    settings_at,
    sign_up,
)
from tests.rest_bridge.notes import Notes
from tests.tools.people.test_grants import connect
from tools.app import App
from tools.catalogue import OPERATIONS
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
METADATA = "/.well-known/oauth-protected-resource/mcp"


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return rpc("tools/call", name=name, arguments=arguments)


INITIALIZE = rpc("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})


def answer_in(response: httpx2.Response) -> dict[str, Any]:
    if response.headers["content-type"].startswith("text/event-stream"):
        [data] = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
        return dict(json.loads(data))
    return dict(response.json())


async def open_session(client: Client, person: Person) -> dict[str, str]:
    response = await client.post("/mcp", json=INITIALIZE, headers={**BOTH, **person.bearer})
    assert response.status_code == 200, response.text
    headers = {**BOTH, "Mcp-Session-Id": response.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-06-18"}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await client.post("/mcp", json=ready, headers={**headers, **person.bearer})).status_code == 202
    return headers


async def test_without_a_token_the_answer_says_where_to_learn_more(client: Client) -> None:
    response = await client.post("/mcp", json=INITIALIZE, headers=BOTH)
    assert response.status_code == 401
    assert response.json()["error"] == "invalid_token"
    body = response.json()
    assert body["error_description"] == body["message"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert body["remediation"]
    assert response.headers["www-authenticate"].startswith("Bearer ")
    assert f'resource_metadata="{BASE}{METADATA}"' in response.headers["www-authenticate"]


@pytest.mark.parametrize(
    "accept", [{}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "application/json, text/event-stream"}]
)
async def test_a_bare_call_without_a_session_is_served(client: Client, ada: Person, accept: dict[str, str]) -> None:
    headers = {"Content-Type": "application/json", "Accept": "", **accept, **ada.bearer}
    response = await client.post("/mcp", json=call("create_note", text="bare"), headers=headers)
    assert response.status_code == 200, response.text
    streamed = "event-stream" in accept.get("Accept", "")
    assert response.headers["content-type"].startswith("text/event-stream" if streamed else "application/json")
    result = answer_in(response)["result"]
    assert result["structuredContent"]["text"] == "bare"
    assert result["structuredContent"]["author"] == ada.user_id
    assert response.headers["x-request-id"]


async def test_a_session_is_opened_used_and_ended(client: Client, ada: Person) -> None:
    headers = {**await open_session(client, ada), **ada.bearer}
    response = await client.post("/mcp", json=call("create_note", text="in a session"), headers=headers)
    assert answer_in(response)["result"]["structuredContent"]["text"] == "in a session"
    assert (await client.delete("/mcp", headers=headers)).status_code == 200
    assert (await client.post("/mcp", json=call("own"), headers=headers)).status_code == 404


@pytest.mark.parametrize("surrogate", [b"\\ud83d", b"\xed\xa0\xbd"])
async def test_a_lone_surrogate_is_named_in_and_outside_of_a_session(
    client: Client, ada: Person, surrogate: bytes
) -> None:
    message = json.dumps(call("create_note", text="x", tags=["a", "b?"])).encode().replace(b"b?", b"b" + surrogate)
    for headers in (BOTH, await open_session(client, ada)):
        answer = await client.post("/mcp", content=message, headers={**headers, **ada.bearer})
        result = answer_in(answer)["result"]
        assert result["isError"]
        assert "arguments.tags.1 holds a lone surrogate" in result["content"][0]["text"]
        assert "at character 2" in result["content"][0]["text"]


async def test_a_session_of_another_caller_or_a_lost_one_is_none(client: Client, app: App, ada: Person) -> None:
    session = await open_session(client, ada)
    stranger = sign_up(app)
    for headers in (session, {**session, "Mcp-Session-Id": "0" * 32}):
        alone = {**headers, **stranger.bearer}
        response = await client.post("/mcp", json=call("create_note", text="mine"), headers=alone)
        assert answer_in(response)["result"]["structuredContent"]["author"] == stranger.user_id
        assert "mcp-session-id" not in response.headers
        for method in ("GET", "DELETE"):
            assert_envelope(await client.request(method, "/mcp", headers=alone), 405, "method_not_allowed")
        assert (await client.post("/mcp", json=rpc("tools/list"), headers=headers)).status_code == 401
    assert (await client.post("/mcp", json=call("own"), headers={**session, **ada.bearer})).status_code == 200


async def test_a_session_outlives_the_access_token_that_opened_it(client: Client, app: App, ada: Person) -> None:
    session = await open_session(client, ada)
    (signed_in,) = app.ledger.people.sessions(ada.user_id)
    fresh = app.accounts.tokens.access(signed_in)
    headers = {**session, "Authorization": f"Bearer {fresh}"}
    assert (await client.post("/mcp", json=call("own"), headers=headers)).status_code == 200


@pytest.mark.parametrize("ending", ["logout", "key", "grant"])
async def test_an_open_stream_ends_soon_after_the_right_to_it(app: App, ada: Person, ending: str) -> None:
    async with (
        serving(app, OPERATIONS) as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as http,
    ):
        token, method, end = ada.token, "POST", "/api/auth/logout"
        if ending == "grant":
            token = await in_thread(connect, app, ada, f"http://127.0.0.1:{port}/mcp")
            (grant,) = (await http.get("/api/users/me/grants", headers=ada.bearer)).json()["grants"]
            method, end = "DELETE", f"/api/users/me/grants/{grant['id']}"
        if ending == "key":
            made = (await http.post("/api/auth/api-keys", json={"name": "k"}, headers=ada.bearer)).json()
            token, end = made["api_key"], f"/api/auth/api-keys/{made['id']}/revoke"
        headers = {**await open_session(http, replace(ada, token=token)), "Authorization": f"Bearer {token}"}
        async with http.stream("GET", "/mcp", headers=headers) as stream:
            assert stream.status_code == 200
            pieces = stream.aiter_bytes()
            with anyio.move_on_after(RECHECK_S + 1) as waiting:
                await anext(pieces, None)
            assert waiting.cancelled_caught, "as long as the right holds it stays open"
        async with http.stream("GET", "/mcp", headers=headers) as stream:
            assert (await http.request(method, end, headers=ada.bearer)).status_code in (200, 204)
            with anyio.fail_after(RECHECK_S + 3):
                assert b"".join([piece async for piece in stream.aiter_bytes()]) == b""
        assert (await http.get("/mcp", headers=headers)).status_code == 401


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'"initialize"', b'{"method": 7}'])
async def test_what_is_no_message_is_a_protocol_error(client: Client, ada: Person, body: bytes) -> None:
    response = await client.post("/mcp", content=body, headers={**BOTH, **ada.bearer})
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32700, -32600, -32602)


async def test_a_body_over_the_limit_is_refused(client: Client, ada: Person) -> None:
    response = await client.post("/mcp", content=b"x" * (8 * 1024 * 1024 + 1), headers={**BOTH, **ada.bearer})
    assert_envelope(response, 413, "payload_too_large")


async def test_a_host_or_a_page_that_is_not_ours_is_told_so(client: Client, ada: Person) -> None:
    headers = {**BOTH, **ada.bearer, "Host": "rebound.example"}
    refused = assert_envelope(await client.post("/mcp", json=rpc("tools/list"), headers=headers), 421, "api_error")
    assert "'rebound.example'" in refused["message"]
    assert "ENGRAIN_ALLOWED_HOSTS" in refused["remediation"]
    headers = {**BOTH, **ada.bearer, "Origin": "https://evil.example"}
    answer = await client.post("/mcp", json=rpc("tools/list"), headers=headers)
    assert "evil.example" in assert_envelope(answer, 403, "cross_origin_refused")["message"]


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost:1@evil.example", "127.0.0.1:x"])
@pytest.mark.parametrize("path", ["/mcp", *RESOURCE_METADATA_PATHS, *SERVER_METADATA_PATHS])
async def test_no_address_is_told_under_a_name_that_is_not_ours(client: Client, path: str, host: str) -> None:
    refused = await client.get(path, headers={"Host": host})
    assert "ENGRAIN_ALLOWED_HOSTS" in assert_envelope(refused, 421, "api_error")["remediation"]
    assert "evil" not in str(refused.headers)


async def test_the_authorization_server_answers_under_its_own_names_only(client: Client) -> None:
    elsewhere = {"Host": "evil.example"}
    for path in ("/register", "/token", "/revoke"):
        refused = await client.post(path, json={}, headers=elsewhere)
        assert (refused.status_code, refused.json()["error"]) == (421, "invalid_request")
        assert "evil.example" in refused.json()["error_description"]
        assert (await client.post(path, json={})).status_code in (400, 401)
    page = await client.get("/authorize", headers=elsewhere)
    assert page.status_code == 421
    assert page.headers["content-type"].startswith("text/html")


MODERN = {"Mcp-Protocol-Version": "2026-07-28"}


@pytest.mark.parametrize(
    ("method", "headers", "status", "code"),
    [
        ("POST", {**BOTH, "Content-Type": "text/plain"}, 400, "invalid_request"),
        ("POST", {**BOTH, **MODERN, "Content-Type": "text/plain"}, 400, "invalid_request"),
        ("POST", {**BOTH, **MODERN, "Accept": "text/html"}, 406, "api_error"),
        ("GET", {**BOTH, **MODERN}, 405, "method_not_allowed"),
        ("DELETE", {**BOTH, **MODERN}, 405, "method_not_allowed"),
    ],
)
async def test_what_is_refused_outside_the_protocol_has_the_envelope(
    client: Client, ada: Person, method: str, headers: dict[str, str], status: int, code: str
) -> None:
    content = json.dumps(rpc("tools/list"))
    response = await client.request(method, "/mcp", content=content, headers={**headers, **ada.bearer})
    assert_envelope(response, status, code)
    assert response.headers.get("allow") == ("POST" if status == 405 else None)


async def test_blanks_around_the_name_header_are_no_mismatch(client: Client, ada: Person) -> None:
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in (
        ("protocolVersion", MODERN["Mcp-Protocol-Version"]), ("clientCapabilities", {}),
    )}  # fmt: skip
    message = call("create_note", text="x")
    message["params"]["_meta"] = meta
    headers = {**BOTH, **MODERN, **ada.bearer, "Mcp-Method": "tools/call", "Mcp-Name": " create_note \t"}
    answer = await client.post("/mcp", json=message, headers=headers)
    assert answer.status_code == 200, answer.text
    assert not answer_in(answer)["result"].get("isError")


async def test_what_is_refused_within_the_protocol_stays_a_message_of_it(client: Client, ada: Person) -> None:
    session = {**await open_session(client, ada), **ada.bearer}
    for refused in (
        await client.post("/mcp", json=rpc("tools/list"), headers={**session, "Accept": "text/html"}),
        await client.post("/mcp", json=rpc("no/such"), headers={**BOTH, **MODERN, **ada.bearer}),
        await client.put("/mcp", json=rpc("tools/list"), headers=session),
    ):
        assert refused.status_code in (400, 404, 405, 406)
        assert refused.json()["jsonrpc"] == "2.0"
        assert refused.json()["error"]["message"]
        assert refused.headers["x-request-id"]


@asynccontextmanager
async def configured(folder: Path, **settings: Any) -> AsyncIterator[tuple[Client, Person]]:
    async with (
        opened(settings_at(folder, **settings)) as app,
        client_of(build_asgi(app, Notes().operations())) as client,
    ):
        yield client, sign_up(app)


@pytest.mark.parametrize(
    ("settings", "host"),
    [
        ({"allowed_hosts": ("memory.example",)}, "memory.example"),
        ({"allowed_hosts": ("memory.example",)}, "memory.example:8420"),
        ({"base_url": "https://public.example"}, "public.example"),
        ({"allowed_hosts": ("*",)}, "anything.example"),
        ({}, "localhost:9"),
        ({}, "[::1]:8420"),
    ],
)
async def test_hosts_are_accepted_by_setting(tmp_path: Path, settings: dict[str, Any], host: str) -> None:
    async with configured(tmp_path, **settings) as (client, ada):
        response = await client.post("/mcp", json=rpc("tools/list"), headers={**BOTH, **ada.bearer, "Host": host})
        assert response.status_code == 200, response.text


@pytest.mark.parametrize("allowed", ["memory.example", "*"])
async def test_the_metadata_is_told_under_a_name_that_was_allowed(tmp_path: Path, allowed: str) -> None:
    async with configured(tmp_path, allowed_hosts=(allowed,)) as (client, _):
        told = await client.get(METADATA, headers={"Host": "memory.example:8420"})
        assert told.json()["resource"] == "http://memory.example:8420/mcp"


async def test_switched_off_authentication_acts_for_the_first_admin_on_mcp_alone(tmp_path: Path) -> None:
    async with configured(tmp_path, mcp_auth_mode="off") as (client, _):
        made = await client.post("/mcp", json=call("create_note", text="x"), headers=BOTH)
        assert not answer_in(made)["result"].get("isError"), made.text
        foreign = {**BOTH, "Origin": "https://evil.example"}
        assert (await client.post("/mcp", json=call("create_note", text="x"), headers=foreign)).status_code == 403
        assert_envelope(await client.post("/api/notes", json={"text": "x"}), 401, "authentication_required")


async def test_a_token_that_does_not_hold_is_refused_even_when_none_is_needed(tmp_path: Path) -> None:
    async with configured(tmp_path, mcp_auth_mode="off") as (client, _):
        response = await client.post("/mcp", json=rpc("tools/list"), headers={**BOTH, "Authorization": "Bearer x.y.z"})
        assert response.status_code == 401


async def test_switched_off_authentication_needs_somebody_to_act_for(tmp_path: Path) -> None:
    async with opened(settings_at(tmp_path, mcp_auth_mode="off")) as app, client_of(build_asgi(app)) as client:
        refused = await client.post("/mcp", json=rpc("tools/list"), headers=BOTH)
        assert_envelope(refused, 401, "authentication_required")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_sdks_own_client_speaks_both_revisions(app: App, ada: Person, notes: Notes, mode: str) -> None:
    async with (
        serving(app, notes.operations()) as port,
        httpx2.AsyncClient(headers=ada.bearer, trust_env=False, timeout=30) as http,
        McpClient(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http), mode=mode) as mcp,
    ):
        listed = {tool.name for tool in (await mcp.list_tools()).tools}
        assert listed == {"create_note", "read_note", "break_down", "own"}
        result = await mcp.call_tool("create_note", {"text": "over the wire"})
        assert result.structured_content["author"] == ada.user_id
        assert isinstance(result.content[0], TextContent)
        assert "id: note_1" in result.content[0].text.splitlines()
        health = await mcp.read_resource("engrain://health")
        assert json.loads(health.contents[0].text)["status"]  # type: ignore[union-attr]
