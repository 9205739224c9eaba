"""A damaged row of the ledger, as callers meet it: named to whoever may read it, and in nobody else's way."""

from typing import Any

import pytest
from sqlalchemy import text

from tests.rest_bridge.harness import Client, Person, assert_envelope, joined
from tools.app import App

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]


async def stored(client: Client, owner: Person, name: str, **fields: Any) -> str:
    body = {"name": name, "entity_type": "episode", "content": f"{name} by the water", **fields}
    made = await client.post("/api/entities?sync=true", json=body, headers=owner.bearer)
    assert made.status_code == 201, made.text
    assert not made.json().get("pending_indexes")
    return str(made.json()["id"])


def tear(app: App, entity_id: str) -> None:
    with app.ledger._database.write() as connection:
        connection.execute(text("UPDATE entities SET metadata = '{\"a\": ' WHERE id = :id"), {"id": entity_id})


async def test_reading_and_changing_it_is_refused_with_a_way_out(app: App, client: Client, ada: Person) -> None:
    torn = await stored(client, ada, "bittern")
    tear(app, torn)
    for method, body in (("GET", None), ("PATCH", {"name": "heron"})):
        answer = await client.request(method, f"/api/entities/{torn}", json=body, headers=ada.bearer)
        refused = assert_envelope(answer, 500, "record_unreadable")
        assert refused["message"] == f"The entity {torn} cannot be read: its row in the ledger is damaged."
        assert refused["remediation"].startswith("Delete the record")


async def test_everything_else_goes_on(app: App, client: Client, ada: Person) -> None:
    torn, whole = await stored(client, ada, "bittern"), await stored(client, ada, "kestrel")
    linked = {"source_id": whole, "target_id": torn, "name": "RELATED_TO"}
    assert (await client.post("/api/relations", json=linked, headers=ada.bearer)).status_code == 201
    tear(app, torn)
    later = await stored(client, ada, "heron")
    listed = (await client.get("/api/entities", headers=ada.bearer)).json()
    assert {each["id"] for each in listed["entities"]} == {whole, later}
    found = await client.post("/api/search", json={"query": "bittern heron water"}, headers=ada.bearer)
    assert {each["id"] for each in found.json()["results"]} == {whole, later}
    near = (await client.get(f"/api/entities/{whole}", headers=ada.bearer)).json()
    assert near["related"] == []
    ready = (await client.get("/api/health/ready")).json()
    assert ready["status"] == "ready"


async def test_deleting_it_is_the_way_out(app: App, client: Client, ada: Person) -> None:
    torn = await stored(client, ada, "bittern")
    tear(app, torn)
    viewer = joined(app, ada, "viewer")
    assert_envelope(await client.delete(f"/api/entities/{torn}", headers=viewer.bearer), 403, "forbidden")
    assert (await client.delete(f"/api/entities/{torn}", headers=ada.bearer)).status_code == 204
    assert_envelope(await client.get(f"/api/entities/{torn}", headers=ada.bearer), 404, "not_found")
    assert app.ledger.feed.unreadable(ada.organization_id) == []


async def test_others_are_told_what_is_told_of_an_intact_one(app: App, client: Client, ada: Person) -> None:
    torn = await stored(client, ada, "bittern", metadata={"memory_scope": "private"})
    other = joined(app, ada, "admin")
    before = {
        method: assert_envelope(
            await client.request(method, f"/api/entities/{torn}", json=body, headers=other.bearer), 404, "not_found"
        )
        for method, body in (("GET", None), ("PATCH", {"name": "heron"}), ("DELETE", None))
    }
    tear(app, torn)
    for method, body in (("GET", None), ("PATCH", {"name": "heron"}), ("DELETE", None)):
        answer = await client.request(method, f"/api/entities/{torn}", json=body, headers=other.bearer)
        after = assert_envelope(answer, 404, "not_found")
        assert after | {"request_id": ""} == before[method] | {"request_id": ""}
    assert (await client.get(f"/api/entities/{torn}", headers=ada.bearer)).status_code == 500
