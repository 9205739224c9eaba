"""The routes of tasks and epics where HTTP has a say: statuses, bodies that may be left out, preconditions, keys."""

from typing import Any

import httpx2
import pytest

from tests.rest_bridge.harness import Person, assert_envelope, joined
from tools.app import App

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]


async def entity(client: httpx2.AsyncClient, person: Person, kind: str, **metadata: Any) -> str:
    fields = {"name": "Apollo", "entity_type": kind, "metadata": metadata}
    response = await client.post("/api/entities", json=fields, headers=person.bearer)
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


async def task(client: httpx2.AsyncClient, person: Person, **fields: Any) -> str:
    """Create a task; gives its path."""
    project = fields.pop("project_id", None) or await entity(client, person, "project")
    response = await client.post(
        "/api/tasks", json={"title": "Fix", "project_id": project, **fields}, headers=person.bearer
    )
    assert response.status_code == 200, response.text
    return f"/api/tasks/{response.json()['task_id']}"


async def test_deeds_without_a_needed_field_take_no_body(client: httpx2.AsyncClient, ada: Person) -> None:
    path = await task(client, ada)
    for deed, status in (("start", "doing"), ("unblock", "doing"), ("review", "review"), ("complete", "done")):
        done = await client.post(f"{path}/{deed}", headers=ada.bearer)
        assert (done.status_code, done.json()["data"]["status"]) == (200, status), done.text
    assert set(done.json()) == {"success", "action", "task_id", "message", "data", "mutation_receipt"}
    assert (await client.post(f"{path}/archive", headers=ada.bearer)).json()["action"] == "archive_task"
    again = await client.post(f"{path}/start", json={}, headers=ada.bearer)
    assert assert_envelope(again, 400, "invalid_request")["message"] == "Invalid transition: archived -> doing."


async def test_a_precondition_is_a_revision(client: httpx2.AsyncClient, ada: Person) -> None:
    path = await task(client, ada)
    stale, fresh, any_one = ({**ada.bearer, "If-Match": tag} for tag in ('"7"', '"1"', "*"))
    assert_envelope(await client.post(f"{path}/start", headers=stale), 409, "conflict")
    assert (await client.post(f"{path}/start", headers=fresh)).json()["data"]["revision"] == 2
    assert_envelope(await client.patch(path, json={"title": "x"}, headers=fresh), 409, "conflict")
    assert (await client.patch(path, json={"title": "x"}, headers=any_one)).json()["data"]["revision"] == 3
    refused = await client.post(f"{path}/block", json={"reason": "r"}, headers={**ada.bearer, "If-Match": "x"})
    assert assert_envelope(refused, 422, "validation_error")["details"]["field"] == "header.If-Match"


async def test_a_change_waits_for_the_indexes_where_it_is_asked_to(client: httpx2.AsyncClient, ada: Person) -> None:
    path = await task(client, ada)
    queued = await client.patch(path, json={"priority": "low"}, headers=ada.bearer)
    assert (queued.status_code, queued.json()["message"]) == (200, "Update queued")
    waited = await client.patch(f"{path}?sync=true", json={"priority": "high"}, headers=ada.bearer)
    assert (waited.json()["message"], waited.json()["data"]) == ("Task updated", {"status": "todo", "revision": 3})


async def test_what_is_refused_names_its_field(client: httpx2.AsyncClient, ada: Person) -> None:
    path = await task(client, ada)
    epic = f"/api/epics/{await entity(client, ada, 'epic')}"
    for method, where, body, status, field in (
        ("POST", "/api/tasks", {"title": "x"}, 422, "body.project_id"),
        ("POST", "/api/tasks", {"title": "x", "project_id": "p", "assignees": "Ada"}, 422, "body.assignees"),
        ("PATCH", path, {"status": "finished"}, 422, "body.status"),
        ("PATCH", f"{path}?sync=perhaps", {"status": "done"}, 422, "query.sync"),
        ("PATCH", epic, {"status": "done"}, 422, "body.status"),
        ("POST", f"{path}/block", {}, 422, "body.reason"),
        ("POST", f"{path}/complete", {"actual_hours": "2"}, 422, "body.actual_hours"),
        ("POST", f"{path}/complete", {"cited_ids": ["nothing"]}, 404, "body.cited_ids"),
        ("POST", f"{path}/notes", {"content": "x", "author_type": "robot"}, 422, "body.author_type"),
        ("POST", f"{path}/notes", {"content": "a\u0000b"}, 422, "body.content"),
        ("GET", f"{path}/notes?limit=0", None, 422, "query.limit"),
    ):
        response = await client.request(method, where, json=body, headers=ada.bearer)
        code = "not_found" if status == 404 else "validation_error"
        assert assert_envelope(response, status, code)["details"]["field"] == field
    for where in (path, epic):
        assert_envelope(await client.patch(where, json={}, headers=ada.bearer), 400, "invalid_request")
    for where in ("/api/tasks/none/start", "/api/epics/none/start"):
        assert_envelope(await client.post(where, headers=ada.bearer), 404, "not_found")


async def test_a_note_is_answered_and_listed(client: httpx2.AsyncClient, app: App, ada: Person) -> None:
    path = await task(client, ada)
    keyed = {**ada.bearer, "Idempotency-Key": "k"}
    made, again = [await client.post(f"{path}/notes", json={"content": "one"}, headers=keyed) for _ in range(2)]
    assert (made.status_code, made.json()["status"]) == (200, "pending")
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["mutation_receipt"]["replayed"] is True
    viewer = joined(app, ada, "viewer")
    listed = (await client.get(f"{path}/notes?limit=5", headers=viewer.bearer)).json()
    assert listed["count"] == 1
    assert {**listed["notes"][0], "status": "pending"}.items() <= (made.json() | {"mutation_receipt": None}).items()
    refused = await client.post(f"{path}/notes", json={"content": "two"}, headers=viewer.bearer)
    assert_envelope(refused, 403, "forbidden")


async def test_an_epic_is_worked_on_by_its_routes(client: httpx2.AsyncClient, ada: Person) -> None:
    project = await entity(client, ada, "project")
    epic = await entity(client, ada, "epic", project_id=project)
    path = f"/api/epics/{epic}"
    changed = await client.patch(path, json={"title": "Mars", "priority": "high"}, headers=ada.bearer)
    assert (changed.status_code, changed.json()["epic_id"], changed.json()["data"]["revision"]) == (200, epic, 2)
    for deed, status in (("start", "in_progress"), ("complete", "completed"), ("archive", "archived")):
        done = await client.post(f"{path}/{deed}", headers=ada.bearer)
        assert (done.status_code, done.json()["data"]["status"]) == (200, status)
        assert done.json()["action"] == f"{deed}_epic"
