from typing import Any

import pytest
from pydantic import Field

from rest_bridge.health import PATHS
from rest_bridge.openapi import build_document
from tests.rest_bridge.harness import Client
from tests.rest_bridge.notes import Notes
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation, Result, Route

pytestmark = pytest.mark.anyio


@pytest.fixture
async def document(client: Client) -> dict[str, Any]:
    response = await client.get("/api/openapi.json")
    assert response.headers["content-type"] == "application/json"
    return dict(response.json())


def references(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(references, node)) if node else set()
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
    return own.union(*map(references, node.values())) if node else own


def test_every_reference_resolves_and_every_component_is_used(document: dict[str, Any]) -> None:
    for reference in references(document):
        prefix, _, name = reference.rpartition("/")
        assert prefix == "#/components/schemas"
        assert name in document["components"]["schemas"]
    assert "$defs" not in str(document)
    assert {each.rpartition("/")[2] for each in references(document)} == set(document["components"]["schemas"])


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


def test_every_error_has_the_error_schema(document: dict[str, Any]) -> None:
    for item in document["paths"].values():
        for operation in item.values():
            for status, response in operation["responses"].items():
                assert {"X-Request-ID", "X-Engrain-Version"} <= response["headers"].keys()
                if int(status) >= 400 and operation["operationId"] != "ready":
                    schema = response["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/Error"}


def test_protected_and_public_operations_are_told_apart(document: dict[str, Any]) -> None:
    assert document["paths"]["/api/notes"]["get"]["security"] == [{"bearer": []}, {"cookie": []}]
    assert document["paths"]["/api/say"]["post"]["security"] == []
    assert set(document["components"]["securitySchemes"]) == {"bearer", "cookie"}


def test_statuses_follow_from_what_a_route_takes(document: dict[str, Any]) -> None:
    assert set(document["paths"]["/api/notes"]["post"]["responses"]) == {
        "201", "400", "401", "403", "405", "409", "413", "415", "422", "431", "500", "503"
    }  # fmt: skip
    assert "429" in document["paths"]["/api/echo"]["post"]["responses"]
    assert "content" not in document["paths"]["/api/notes/{note_id}"]["delete"]["responses"]["204"]


def test_a_route_whose_answer_is_not_kept_says_so() -> None:
    made = Operation(Notes().own, "made", mutates=True, secret=True, route=Route("POST", "/api/made"))
    post = build_document([made], version="1", server=None, extra={})["paths"]["/api/made"]["post"]
    (key,) = post["parameters"]
    assert (key["name"], "stored nowhere" in key["description"]) == ("Idempotency-Key", True)
    assert "Idempotency-Replayed" not in post["responses"]["200"]["headers"]
    assert "409" in post["responses"]


def test_the_reference_shows_the_first_paragraph(document: dict[str, Any]) -> None:
    create = document["paths"]["/api/notes"]["post"]
    assert create["summary"] == "Keep a note"
    assert create["description"] == "Keep a note. It is there at once."


def test_models_of_one_name_are_a_mistake() -> None:
    def look_alike() -> type[Result]:
        class Note(Result):
            other: int = Field(description="Not that note.")

        return Note

    other = Operation(Notes().read, "other", result=look_alike(), route=Route("GET", "/api/other/{note_id}"))
    with pytest.raises(ValueError, match="Note"):
        build_document([*Notes().operations(), other], version="1", server=None, extra=PATHS)


def test_the_public_address_is_named_when_it_is_known() -> None:
    document = build_document((), version="1", server="https://memory.example", extra={})
    assert document["servers"] == [{"url": "https://memory.example"}]


def test_where_a_browser_is_sent_on_there_is_no_body_but_a_location() -> None:
    document = build_document(
        [each for each in OPERATIONS if each.route and each.route.path == "/api/auth/codehost"],
        version="1",
        server=None,
        extra={},
    )
    found = document["paths"]["/api/auth/codehost"]["get"]["responses"]["302"]
    assert "content" not in found
    assert found["headers"]["Location"]["required"]
    assert "Redirect" not in document["components"]["schemas"]


def test_an_operation_without_a_route_is_left_out() -> None:
    hidden = Operation(Notes().own)
    assert build_document([hidden], version="1", server=None, extra={})["paths"] == {}
