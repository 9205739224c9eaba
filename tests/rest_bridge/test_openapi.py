from typing import Any

import pytest

from rest_bridge.openapi import build_document
from tests.rest_bridge.harness import Client
from tests.rest_bridge.notes import Notes
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation, Route

pytestmark = pytest.mark.anyio


@pytest.fixture
async def document(client: Client) -> dict[str, Any]:
    response = await client.get("/api/openapi.json")
    assert response.headers["content-type"] == "application/json"
    return dict(response.json())


def test_fields_are_where_their_routes_take_them(document: dict[str, Any]) -> None:
    create = document["paths"]["/api/notes"]["post"]
    places = {(parameter["in"], parameter["name"]) for parameter in create["parameters"]}
    assert places == {("query", "sync"), ("header", "Idempotency-Key")}
    body = document["components"]["schemas"]["NoteRequestBody"]
    assert set(body["properties"]) == {"text", "stars", "tags", "due", "metadata"}
    assert body["required"] == ["text"]
    assert create["requestBody"]["required"]
    patch = document["paths"]["/api/notes/{note_id}"]["patch"]
    places = {(parameter["in"], parameter["name"]) for parameter in patch["parameters"]}
    assert places == {("path", "note_id"), ("header", "If-Match")}
    assert not patch["requestBody"]["required"]


def test_query_parameters_offer_no_null(document: dict[str, Any]) -> None:
    parameters = {each["name"]: each for each in document["paths"]["/api/notes"]["get"]["parameters"]}
    assert parameters["starred"]["schema"] == {"type": "boolean"}
    assert parameters["page"]["schema"] == {"type": "integer", "minimum": 1, "default": 1}
    assert parameters["page"]["description"] == "Page, from 1."


def test_a_route_whose_answer_is_not_kept_says_so() -> None:
    made = Operation(Notes().own, "made", mutates=True, secret=True, route=Route("POST", "/api/made"))
    post = build_document([made], version="1", server=None)["paths"]["/api/made"]["post"]
    (key,) = post["parameters"]
    assert (key["name"], "stored nowhere" in key["description"]) == ("Idempotency-Key", True)
    assert "Idempotency-Replayed" not in post["responses"]["200"]["headers"]
    assert "409" in post["responses"]


def test_the_reference_shows_the_first_paragraph(document: dict[str, Any]) -> None:
    create = document["paths"]["/api/notes"]["post"]
    assert create["summary"] == "Keep a note"
    assert create["description"] == "Keep a note. It is there at once."


def test_the_public_address_is_named_when_it_is_known() -> None:
    document = build_document((), version="1", server="https://memory.example")
    assert document["servers"] == [{"url": "https://memory.example"}]


def test_where_a_browser_is_sent_on_there_is_no_body_but_a_location() -> None:
    document = build_document(
        [each for each in OPERATIONS if each.route and each.route.path == "/api/auth/codehost"],
        version="1",
        server=None,
    )
    found = document["paths"]["/api/auth/codehost"]["get"]["responses"]["302"]
    assert "content" not in found
    assert found["headers"]["Location"]["required"]
    assert "Redirect" not in document["components"]["schemas"]
