"""Memory spaces over REST, and keys that are narrowed to them over REST, MCP and the WebSocket."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.people import Person
from tests.rest_bridge.harness import Client, assert_envelope
from tests.rest_bridge.keys.test_api_key_routes import agent, bearer, make
from tests.rest_bridge.test_websocket import answer, listening_to, received, served
from tools.app import App

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]

SETTINGS = {"rate_limit_enabled": False}
SPACES = "/api/memory/spaces"
CREW = {"memory_scope": "shared", "scope_key": "crew"}


async def post(client: Client, who: Person, path: str, body: dict[str, Any]) -> httpx2.Response:
    return await client.post(path, json=body, headers=bearer(who.token))


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "validation_error"),
        ({"name": ""}, 422, "validation_error"),
        ({"name": "x" * 201}, 422, "validation_error"),
        ({"name": "x", "description": "x" * 2001}, 422, "validation_error"),
        ({"name": "x", "memory_scope": "everyone"}, 422, "validation_error"),
        ({"name": "x", "memory_scope": "shared", "scope_key": "k" * 501}, 422, "validation_error"),
        ({"name": "x", "memory_scope": "shared", "scope_key": "k" * 450}, 422, "validation_error"),
        ({"name": "x", "memory_scope": "shared", "scope_key": "\u0000"}, 422, "validation_error"),
        ({"name": "x", "memory_scope": "shared"}, 400, "missing_scope_key"),
        ({"name": "x", "scope_key": "somebody"}, 400, "private_scope_key_mismatch"),
        ({"name": "x", "memory_scope": "project", "scope_key": "nowhere"}, 404, "not_found"),
    ],
)
async def test_bad_spaces_are_refused(
    client: Client, ada: Person, body: dict[str, Any], status: int, code: str
) -> None:
    assert_envelope(await post(client, ada, SPACES, body), status, code)
    assert (await client.get(SPACES, headers=bearer(ada.token))).json() == {"spaces": []}


async def test_a_bad_id_in_the_path_is_another_mistake_than_one_in_the_body(client: Client, ada: Person) -> None:
    space = (await post(client, ada, SPACES, {"name": "Crew", **CREW})).json()["id"]
    target = {"target_principal_id": "scout"}
    assert_envelope(await client.get(f"{SPACES}/nonsense", headers=bearer(ada.token)), 422, "validation_error")
    bad = await post(client, ada, f"{SPACES}/nonsense/members/preview", target)
    assert_envelope(bad, 422, "validation_error")
    path = f"{SPACES}/{space}/members/preview"
    for fields, status, code in (
        ({"additional_space_ids": ["nonsense"]}, 400, "invalid_memory_space_id"),
        ({"additional_space_ids": [str(uuid4())]}, 404, "not_found"),
        ({"additional_space_ids": [space] * 26}, 422, "validation_error"),
        ({"limit": 0}, 422, "validation_error"),
        ({"limit": 201}, 422, "validation_error"),
        ({"target_principal_type": "robot"}, 422, "validation_error"),
        ({"target_principal_id": ""}, 422, "validation_error"),
    ):
        assert_envelope(await post(client, ada, path, {**target, **fields}), status, code)
    assert_envelope(await client.get(f"{SPACES}/{uuid4()}", headers=bearer(ada.token)), 404, "not_found")
    told = (await post(client, ada, path, target)).json()
    assert (told["allowed"], told["reason"], told["target_principal_type"]) == (True, "access_preview_allowed", "agent")
    nothing = await client.patch(f"{SPACES}/{space}", json={}, headers=bearer(ada.token))
    assert_envelope(nothing, 400, "invalid_request")
    far = {"principal_type": "user", "principal_id": ada.user_id, "expires_at": "0001-01-01T00:00:00+14:00"}
    assert_envelope(await post(client, ada, f"{SPACES}/{space}/members", far), 400, "invalid_request")


async def test_a_key_for_a_space_finds_the_same_on_every_surface(client: Client, app: App, ada: Person) -> None:
    space = (await post(client, ada, SPACES, {"name": "Crew", **CREW})).json()["id"]
    await ada.call("create_entity", name="kestrel of all", sync=True)
    inside = (await ada.call("create_entity", name="kestrel of the crew", metadata=CREW, sync=True))["id"]
    kept = (await ada.call("store_raw_memory", raw_content="kestrel", sync=True, **CREW))["id"]
    own = (await ada.call("store_raw_memory", raw_content="my kestrel", sync=True))["id"]
    key = (await make(client, ada, scopes=["mcp", "api:write"], memory_space_ids=[space]))["api_key"]
    listed = (await client.get("/api/entities", headers=bearer(key))).json()
    assert (listed["total"], [each["id"] for each in listed["entities"]]) == (1, [inside])
    told = await agent(client, key, "search", query="kestrel", limit=50)
    assert {hit["id"] for hit in told["structuredContent"]["results"]} == {inside}
    asked = {"query": "kestrel", **CREW}
    searched = await client.post("/api/search", json=asked, headers=bearer(key))
    assert {hit["id"] for hit in searched.json()["results"]} == {inside, kept}
    captures = (await client.get("/api/entities/captures", headers=bearer(key))).json()
    assert [each["id"] for each in captures["captures"]] == [kept]
    assert_envelope(await client.get(f"/api/entities/captures/{own}", headers=bearer(key)), 404, "not_found")
    outside = await client.post("/api/entities", json={"name": "n"}, headers=bearer(key))
    assert "narrowed" in assert_envelope(outside, 403, "forbidden")["message"]
    assert (await agent(client, key, "add", title="t", content="c"))["isError"]
    async with served(app) as url, listening_to(url, **bearer(key)) as socket:
        assert (await answer(socket, {"type": "ping"}))["event"] == "pong", "it is subscribed"
        await ada.call("create_entity", name="elsewhere", sync=True)
        await ada.call("store_raw_memory", raw_content="mine")
        made = await ada.call("store_raw_memory", raw_content="crew", **CREW)
        assert (await received(socket))["data"]["id"] == made["id"]
