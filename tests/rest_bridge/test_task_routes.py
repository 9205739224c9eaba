"""The routes of tasks and epics where HTTP has a say: statuses, bodies that may be left out, preconditions, keys."""

from typing import Any

import pytest

from tests.rest_bridge.harness import Client, Person, assert_envelope

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]


async def entity(client: Client, person: Person, kind: str, **metadata: Any) -> str:
    fields = {"name": "Apollo", "entity_type": kind, "metadata": metadata}
    response = await client.post("/api/entities", json=fields, headers=person.bearer)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


async def task(client: Client, person: Person, **fields: Any) -> str:
    project = fields.pop("project_id", None) or await entity(client, person, "project")
    response = await client.post(
        "/api/tasks", json={"title": "Fix", "project_id": project, **fields}, headers=person.bearer
    )
    assert response.status_code == 200, response.text
    return f"/api/tasks/{response.json()['task_id']}"


async def test_deeds_without_a_needed_field_take_no_body(client: Client, ada: Person) -> None:
    path = await task(client, ada)
    for deed, status in (("start", "doing"), ("unblock", "doing"), ("review", "review"), ("complete", "done")):
        done = await client.post(f"{path}/{deed}", headers=ada.bearer)
        assert (done.status_code, done.json()["data"]["status"]) == (200, status), done.text
    assert set(done.json()) == {"success", "action", "task_id", "message", "data", "mutation_receipt"}
    assert (await client.post(f"{path}/archive", headers=ada.bearer)).json()["action"] == "archive_task"
    again = await client.post(f"{path}/start", json={}, headers=ada.bearer)
    assert assert_envelope(again, 400, "invalid_request")["message"] == "Invalid transition: archived -> doing."


async def test_a_precondition_is_a_revision(client: Client, ada: Person) -> None:
    path = await task(client, ada)
    stale, fresh, any_one = ({**ada.bearer, "If-Match": tag} for tag in ('"7"', '"1"', "*"))
    assert_envelope(await client.post(f"{path}/start", headers=stale), 409, "conflict")
    assert (await client.post(f"{path}/start", headers=fresh)).json()["data"]["revision"] == 2
    assert_envelope(await client.patch(path, json={"title": "x"}, headers=fresh), 409, "conflict")
    assert (await client.patch(path, json={"title": "x"}, headers=any_one)).json()["data"]["revision"] == 3
    refused = await client.post(f"{path}/block", json={"reason": "r"}, headers={**ada.bearer, "If-Match": "x"})
    assert assert_envelope(refused, 422, "validation_error")["details"]["field"] == "header.If-Match"
