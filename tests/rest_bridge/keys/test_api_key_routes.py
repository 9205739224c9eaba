"""API keys over REST, MCP and the WebSocket: the same rights on every surface, and nothing beyond them."""

from typing import Any

import pytest

from stores.ledger import AuditQuery
from tests.people import Person, person
from tests.rest_bridge.harness import Client, assert_envelope
from tests.rest_bridge.test_mcp_mount import BOTH, INITIALIZE, answer_in, call, rpc
from tests.rest_bridge.test_websocket import answer, closing, listening_to, received, served
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]

SETTINGS = {"rate_limit_enabled": False}
KEYS = "/api/auth/api-keys"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def make(client: Client, who: Person, **fields: Any) -> dict[str, Any]:
    answer = await client.post(KEYS, json={"name": "CI", **fields}, headers=bearer(who.token))
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def agent(client: Client, key: str, name: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.post("/mcp", json=call(name, **arguments), headers={**BOTH, **bearer(key)})
    assert answer.status_code == 200, answer.text
    return dict(answer_in(answer)["result"])


async def test_a_key_is_shown_once_listed_without_its_secret_and_revoked(client: Client, app: App, ada: Person) -> None:
    made = await make(client, ada, scopes=["api:read"], expires_days=30)
    assert set(made) == {
        "id", "name", "prefix", "scopes", "project_ids", "memory_space_ids", "expires_at", "api_key",
    }  # fmt: skip
    assert made["api_key"][:16] == made["prefix"]
    assert (await make(client, ada, live=False))["scopes"] == ["mcp"]
    listed = await client.get(KEYS, headers=bearer(ada.token))
    assert [key["scopes"] for key in listed.json()["keys"]] == [["mcp"], ["api:read"]]
    assert made["api_key"] not in listed.text
    assert (await client.get("/api/auth/me", headers=bearer(made["api_key"]))).status_code == 200
    ended = await client.post(f"{KEYS}/{made['id']}/revoke", headers=bearer(ada.token))
    assert (ended.status_code, ended.json()) == (200, {"success": True, "id": made["id"]})
    assert_envelope(await client.get("/api/auth/me", headers=bearer(made["api_key"])), 401, "authentication_required")
    kept = (await client.get(KEYS, headers=bearer(ada.token))).json()["keys"][1]
    assert None not in (kept["revoked_at"], kept["last_used_at"])
    entries = await in_thread(app.ledger.audit.entries, AuditQuery(ada.organization_id))
    drafts = [entry.draft for entry in entries if entry.draft.resource == made["id"]]
    assert [draft.action for draft in drafts] == ["api_key.revoke", "api_key.create"]
    assert made["api_key"] not in str(drafts)


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"name": ""}, 422, "validation_error"), ({"name": "x" * 256}, 422, "validation_error"),
        ({"scopes": []}, 422, "validation_error"), ({"scopes": ["admin"]}, 422, "validation_error"),
        ({"expires_days": 0}, 422, "validation_error"), ({"expires_days": 366}, 422, "validation_error"),
        ({"project_ids": ["project_of_nobody"]}, 400, "invalid_api_key_project_scope"),
        ({"memory_space_ids": ["5f0c1d5e-6d36-4a3b-9d6b-0f7d0c8a1b2c"]}, 400, "invalid_api_key_memory_space_scope"),
    ],
)  # fmt: skip
async def test_invalid_keys_are_refused(
    client: Client, ada: Person, fields: dict[str, Any], status: int, code: str
) -> None:
    answer = await client.post(KEYS, json={"name": "CI", **fields}, headers=bearer(ada.token))
    assert_envelope(answer, status, code)
    assert (await client.get(KEYS, headers=bearer(ada.token))).json() == {"keys": []}


async def test_only_admins_make_keys_and_revoke_those_of_others(client: Client, app: App, ada: Person) -> None:
    bob = await person(app, "bob", of=ada, role="admin")
    carl = await person(app, "carl", of=ada, role="member")
    eve = await person(app, "eve")
    assert_envelope(await client.post(KEYS, json={"name": "x"}, headers=bearer(carl.token)), 403, "forbidden")
    key = await make(client, bob, scopes=["mcp", "api:read", "api:write"])
    path = f"{KEYS}/{key['id']}/revoke"
    assert_envelope(await client.post(path, headers=bearer(carl.token)), 403, "forbidden")
    assert_envelope(await client.post(path, headers=bearer(eve.token)), 404, "not_found")
    assert (await client.get(KEYS, headers=bearer(ada.token))).json() == {"keys": []}, "they are bob's"
    for refused in (
        await client.post(KEYS, json={"name": "x"}, headers=bearer(key["api_key"])),
        await client.get(KEYS, headers=bearer(key["api_key"])),
        await client.post(path, headers=bearer(key["api_key"])),
    ):
        assert_envelope(refused, 403, "forbidden")
    assert (await client.post(path, headers=bearer(ada.token))).status_code == 200


async def test_a_key_is_told_which_scope_it_lacks(client: Client, ada: Person) -> None:
    key = (await make(client, ada, scopes=["api:read"]))["api_key"]
    stored = await client.post("/api/entities", json={"name": "n"}, headers=bearer(key))
    assert "insufficient_api_scope" in assert_envelope(stored, 403, "forbidden")["message"]
    opened = await client.post("/mcp", json=INITIALIZE, headers={**BOTH, **bearer(key)})
    assert opened.status_code == 401, opened.text
    assert "insufficient_api_scope" in opened.json()["error_description"]
    assert "resource_metadata=" in opened.headers["www-authenticate"]


async def test_a_narrowed_key_sees_and_writes_only_records_of_its_projects(client: Client, ada: Person) -> None:
    mine = (await ada.call("create_entity", name="kestrel mine", entity_type="project"))["id"]
    other = (await ada.call("create_entity", name="kestrel other", entity_type="project"))["id"]
    inside = (await ada.call("create_entity", name="kestrel in", metadata={"project_id": mine}, sync=True))["id"]
    hidden = [
        other,
        (await ada.call("create_entity", name="kestrel a", metadata={"project_id": other}, related_to=[inside]))["id"],
        (await ada.call("create_entity", name="kestrel b", related_to=[inside]))["id"],
        (
            await ada.call(
                "create_entity", name="kestrel c", metadata={"project_id": mine, "memory_scope": "private"}, sync=True
            )
        )["id"],
    ]
    key = (await make(client, ada, scopes=["mcp", "api:read", "api:write"], project_ids=[mine]))["api_key"]

    listed = (await client.get("/api/entities", headers=bearer(key))).json()
    assert (listed["total"], {each["id"] for each in listed["entities"]}) == (2, {mine, inside})
    asked = {"query": "kestrel", "limit": 50, "include_retrieval_diagnostics": True}
    searched = await client.post("/api/search", json=asked, headers=bearer(key))
    assert {hit["id"] for hit in searched.json()["results"]} == {mine, inside}
    assert searched.json()["total"] == 2
    told = await agent(client, key, "search", query="kestrel", limit=50)
    assert {hit["id"] for hit in told["structuredContent"]["results"]} == {mine, inside}
    explored = await agent(client, key, "explore", limit=100)
    near = await agent(client, key, "expand_neighbors", entity_ids=[inside])
    statistics = await client.post(
        "/mcp", json=rpc("resources/read", uri="engrain://stats"), headers={**BOTH, **bearer(key)}
    )
    read = await client.get(f"/api/entities/{inside}", headers=bearer(key))
    for text in (searched.text, str(told), str(explored), str(near), statistics.text, read.text):
        assert not [each for each in hidden if each in text]
    for each in hidden:
        assert_envelope(await client.get(f"/api/entities/{each}", headers=bearer(key)), 404, "not_found")
        assert (await agent(client, key, "fetch_slice", entity_id=each))["isError"]
        changed = await client.patch(f"/api/entities/{each}", json={"name": "x"}, headers=bearer(key))
        assert_envelope(changed, 404, "not_found")
    assert (await agent(client, key, "logs"))["isError"]

    for metadata, status in (
        ({}, 403), ({"project_id": mine, "memory_scope": "private"}, 403),
        ({"project_id": mine, "memory_scope": "organization"}, 403), ({"project_id": other}, 404),
        ({"project_id": mine}, 201),
    ):  # fmt: skip
        made = await client.post("/api/entities", json={"name": "n", "metadata": metadata}, headers=bearer(key))
        assert made.status_code == status, (metadata, made.text)
    project = {"name": "P", "entity_type": "project"}
    assert_envelope(await client.post("/api/entities", json=project, headers=bearer(key)), 403, "forbidden")
    moved = await client.patch(
        f"/api/entities/{inside}", json={"metadata": {"memory_scope": "organization"}}, headers=bearer(key)
    )
    assert_envelope(moved, 403, "forbidden")
    assert (await agent(client, key, "add", title="t", content="c"))["isError"]
    assert not (await agent(client, key, "add", title="t", content="c", project=mine)).get("isError")


async def test_a_narrowed_key_does_not_repeat_what_its_user_was_answered(client: Client, ada: Person) -> None:
    mine = (await ada.call("create_entity", name="mine", entity_type="project"))["id"]
    key = (await make(client, ada, scopes=["api:write"], project_ids=[mine]))["api_key"]
    once = {"Idempotency-Key": "once"}
    assert (await client.post("/api/entities", json={"name": "n"}, headers=once | bearer(ada.token))).status_code == 201
    assert_envelope(
        await client.post("/api/entities", json={"name": "n"}, headers=once | bearer(key)), 403, "forbidden"
    )


async def test_a_repeated_request_makes_and_shows_no_second_key(client: Client, app: App, ada: Person) -> None:
    headers = {**bearer(ada.token), "Idempotency-Key": "once"}
    made = await client.post(KEYS, json={"name": "CI"}, headers=headers)
    again = await client.post(KEYS, json={"name": "CI"}, headers=headers)
    assert made.status_code == 200
    assert "held a secret" in assert_envelope(again, 409, "conflict")["message"]
    assert len((await client.get(KEYS, headers=bearer(ada.token))).json()["keys"]) == 1
    ledger = app.settings.data_dir / "ledger.sqlite"
    stored = b"".join(path.read_bytes() for path in ledger.parent.glob("ledger.sqlite*"))
    assert made.json()["prefix"].encode() in stored
    assert made.json()["api_key"].encode() not in stored


async def test_a_narrowed_key_hears_only_of_its_projects(client: Client, app: App, ada: Person) -> None:
    mine = (await ada.call("create_entity", name="mine", entity_type="project", sync=True))["id"]
    made = await make(client, ada, scopes=["api:read"], project_ids=[mine])
    agents = await make(client, ada)
    async with served(app) as url:
        async with listening_to(url, **bearer(agents["api_key"])) as socket:
            code, reason = await closing(socket)
            assert code == 1008
            assert "insufficient_api_scope" in reason
        async with listening_to(url, **bearer(made["api_key"])) as socket:
            assert (await answer(socket, {"type": "ping"}))["event"] == "pong", "it is subscribed"
            await ada.call("create_entity", name="elsewhere", sync=True)
            inside = await ada.call("create_entity", name="inside", metadata={"project_id": mine}, sync=True)
            assert (await received(socket))["data"]["id"] == inside["id"]
            assert (await client.post(f"{KEYS}/{made['id']}/revoke", headers=bearer(ada.token))).status_code == 200
            await closing(socket)
