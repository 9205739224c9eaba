"""The entity routes of the real catalogue where HTTP has a say: preconditions, odd addresses, a missing part."""

from typing import Any

import httpx2
import pytest

from tests.rest_bridge.harness import Client, Person, assert_envelope, serving
from tools.app import App
from tools.catalogue import OPERATIONS

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]


async def made(client: Client, person: Person, **fields: Any) -> str:
    response = await client.post("/api/entities", json={"name": "kettle", **fields}, headers=person.bearer)
    assert response.status_code == 201, response.text
    return f"/api/entities/{response.json()['id']}"


async def test_a_star_changes_and_deletes_whatever_revision_there_is(client: Client, ada: Person) -> None:
    path = await made(client, ada)
    star = {**ada.bearer, "If-Match": "*"}
    for revision in (2, 3):
        changed = await client.patch(path, json={"name": f"kettle {revision}"}, headers=star)
        assert (changed.status_code, changed.json()["revision"]) == (200, revision)
    assert_envelope(await client.delete(path, headers={**ada.bearer, "If-Match": '"2"'}), 409, "conflict")
    assert (await client.delete(path, headers=star)).status_code == 204
    for refused in (
        await client.patch(path, json={"name": "x"}, headers=star),
        await client.delete(path, headers=star),
    ):
        assert_envelope(refused, 404, "not_found")


async def test_a_list_of_nothing_but_commas_is_no_list_of_everything(client: Client, ada: Person) -> None:
    await made(client, ada)
    for nothing in ("%2C", ",,", "%20", "%20,%20"):
        answer = await client.get(f"/api/entities?project_ids={nothing}", headers=ada.bearer)
        refused = assert_envelope(answer, 422, "validation_error")
        assert refused["details"]["field"] == "query.project_ids"
        assert "leave it out" in refused["message"]
    for field in ("status", "priority", "tags"):
        answer = await client.post("/api/search/explore", json={field: ","}, headers=ada.bearer)
        assert assert_envelope(answer, 422, "validation_error")["details"]["field"] == f"body.{field}"
    for given in ("", "project_ids="):
        assert (await client.get(f"/api/entities?{given}", headers=ada.bearer)).json()["total"] == 1, given
    assert_envelope(await client.get("/api/entities?project_ids=nowhere,", headers=ada.bearer), 404, "not_found")


@pytest.mark.parametrize("entity_type", ["task", "epic", "project"])
async def test_null_is_no_status_and_the_operation_says_so(client: Client, ada: Person, entity_type: str) -> None:
    path = await made(client, ada, entity_type=entity_type)
    response = await client.patch(path, json={"metadata": {"status": None, "x": None}}, headers=ada.bearer)
    refused = assert_envelope(response, 422, "validation_error")
    assert refused["details"]["field"] == "body.metadata.status"
    assert refused["message"].startswith("metadata.status is null; use one of ")
    assert "Leave status out" in refused["remediation"]
    assert (await client.patch(path, json={"metadata": {"x": None}}, headers=ada.bearer)).json()["revision"] == 2
    document = (await client.get("/api/openapi.json")).json()
    assert "null is no status" in document["paths"]["/api/entities/{entity_id}"]["patch"]["description"]


ODD_PATHS = ("%", "%4", "%zz", "%ff", "%ed%a0%80", "%00", "%f0%9f", "a%2Fb", "%25", "..%2f..", "%0a")
NO_TEXT = ("search=%ff", "search=%ed%a0%80", "%ff=1", "search=%c3", "search=%00")
ODD_TEXT = ("search=%", "search=%4", "search=%zz", "&&&", "=", "search=a+b%20c", "%00=1")


async def test_odd_percent_encoding_is_refused_or_taken_to_the_letter(app: App, ada: Person) -> None:
    async with (
        serving(app, OPERATIONS) as port,
        httpx2.AsyncClient(headers=ada.bearer, trust_env=False, timeout=30) as client,
    ):

        async def ask(method: str, target: str) -> httpx2.Response:
            return await client.request(method, httpx2.URL(f"http://127.0.0.1:{port}", raw_path=target.encode()))

        for odd in ODD_PATHS:
            for method, path in (("GET", "entities"), ("DELETE", "entities"), ("GET", "nowhere")):
                response = await ask(method, f"/api/{path}/{odd}")
                code = {404: "not_found", 422: "validation_error"}[response.status_code]
                assert_envelope(response, response.status_code, code)
        for odd in NO_TEXT:
            refused = assert_envelope(await ask("GET", f"/api/entities?{odd}"), 422, "validation_error")
            assert refused["details"]["field"] in ("query", "query.search")
        for odd in ODD_TEXT:
            assert (await ask("GET", f"/api/entities?{odd}")).status_code == 200, odd


async def test_a_walk_without_a_graph_is_unavailable(client: Client, app: App, ada: Person) -> None:
    # A file stands where the folder of the graph belongs, so that no attempt to open it succeeds.
    blocker = app.folder.path / "organizations" / ada.organization_id / "graph"
    blocker.parent.mkdir(parents=True)
    blocker.touch()
    entity_id = (await made(client, ada)).rpartition("/")[2]
    for mode in ("related", "traverse", "dependencies"):
        walk = {"mode": mode, "entity_id": entity_id}
        refused = assert_envelope(
            await client.post("/api/search/explore", json=walk, headers=ada.bearer), 503, "unavailable"
        )
        assert refused["message"].startswith("The graph is not ready: ")
        assert str(app.folder.path) not in str(refused)
        assert "readiness" in refused["remediation"]
    listed = await client.post("/api/search/explore", json={}, headers=ada.bearer)
    assert [entity["id"] for entity in listed.json()["entities"]] == [entity_id]


async def test_lists_name_the_filters_that_they_ignore(client: Client, ada: Person) -> None:
    await made(client, ada)
    for method, path, more in (
        ("POST", "/api/search", {"query": "x"}), ("POST", "/api/search/explore", {}), ("GET", "/api/entities", {}),
        ("GET", "/api/logs", {}), ("GET", "/api/entities/captures", {}), ("GET", "/api/teams", {}),
    ):  # fmt: skip
        where = "json" if method == "POST" else "params"
        for unknown in ({}, {"colour": "red", "a": "1"}):
            answer = await client.request(method, path, headers=ada.bearer, **{where: {**more, **unknown}})
            assert answer.status_code == 200, answer.text
            assert answer.json().get("filters", {}).get("ignored", []) == sorted(unknown), path
    refused = await client.get("/api/admin/audit?colour=red&start=1", headers=ada.bearer)
    details = assert_envelope(refused, 422, "validation_error")["details"]
    assert [each["field"] for each in details["errors"]] == ["query.colour", "query.start"]


async def test_an_empty_filter_or_category_is_left_out(client: Client, ada: Person) -> None:
    path = await made(client, ada, category="net")
    empty = {"category": "", "language": "", "project": "", "status": ""}
    found = await client.post("/api/search/explore", json=empty, headers=ada.bearer)
    assert found.json()["total"] == 1
    searched = await client.post("/api/search", json={"query": "x", **empty, "since": ""}, headers=ada.bearer)
    assert searched.status_code == 200, searched.text
    assert (await client.get("/api/logs?level=&service=", headers=ada.bearer)).status_code == 200
    changed = await client.patch(path, json={"category": "", "name": "y"}, headers=ada.bearer)
    assert (changed.json()["category"], changed.json()["name"]) == ("net", "y")
    assert_envelope(await client.patch(path, json={"name": ""}, headers=ada.bearer), 422, "validation_error")
    assert_envelope(await client.post("/api/search", json={"query": ""}, headers=ada.bearer), 422, "validation_error")
