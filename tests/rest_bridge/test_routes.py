from collections.abc import AsyncIterator

import pytest

from tests.rest_bridge.harness import Client, Person, assert_envelope
from tests.rest_bridge.notes import Notes

pytestmark = pytest.mark.anyio


async def test_a_created_note_is_answered_with_the_status_of_its_route(client: Client, ada: Person) -> None:
    body = {"text": "hello", "stars": 5.0, "due": "2026-07-28T10:00:00Z", "unknown": "is ignored"}
    response = await client.post("/api/notes?nonsense=1", json=body, headers=ada.bearer)
    assert response.status_code == 201
    assert [response.json()[name] for name in ("text", "stars", "due")] == ["hello", 5, body["due"]]
    assert response.json()["author"] == ada.user_id
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("body", "field", "expected"),
    [
        ({}, "body.text", "a value: it is required"),
        ({"text": 5}, "body.text", "a valid string"),
        ({"text": "x", "stars": "5"}, "body.stars", "a valid integer"),
        ({"text": "x", "stars": True}, "body.stars", "a valid integer"),
        ({"text": "x", "stars": 1.5}, "body.stars", "a valid integer"),
        ({"text": "x", "stars": 6}, "body.stars", None),
        ({"text": "x", "tags": ["a", 1]}, "body.tags.1", "a valid string"),
        ({"text": "x", "tags": "a"}, "body.tags", "a valid array"),
        ({"text": "x", "metadata": []}, "body.metadata", None),
        ({"text": "x", "due": "someday"}, "body.due", None),
        ({"text": "a\x00b"}, "body.text", "text without U+0000"),
    ],
)
async def test_wrong_types_are_named(
    client: Client, ada: Person, body: object, field: str, expected: str | None
) -> None:
    response = await client.post("/api/notes", json=body, headers=ada.bearer)
    refused = assert_envelope(response, 422, "validation_error")
    details = refused["details"]
    assert (details["field"], "http" in refused["message"]) == (field, False)
    if expected:
        assert details["expected"] == expected


@pytest.mark.parametrize(
    ("query", "asked"),
    [("page=2&tag=7&starred=True", {"page": 2, "tag": "7", "starred": True}),
     ("starred=0&tag=true", {"starred": False, "tag": "true"}),
     ("starred=FALSE&tag=a%20b+c&unknown=1", {"starred": False, "tag": "a b c"}),
     ("&&=&", {})],
)  # fmt: skip
async def test_query_strings_are_coerced(client: Client, ada: Person, query: str, asked: dict[str, object]) -> None:
    response = await client.get(f"/api/notes?{query}", headers=ada.bearer)
    assert response.json()["asked"] == {"page": 1, "tag": None, "starred": None} | asked


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("page=two", "query.page"), ("page=", "query.page"), ("page=0", "query.page"), ("page=1.5", "query.page"),
        ("page=%D9%A1", "query.page"), ("page=1&page=2", "query.page"), ("starred=perhaps", "query.starred"),
        ("tag=1&tag=2", "query.tag"), ("tag=%00", "query.tag"),
    ],
)  # fmt: skip
async def test_a_query_field_of_the_wrong_type_is_named(client: Client, ada: Person, query: str, field: str) -> None:
    refused = assert_envelope(await client.get(f"/api/notes?{query}", headers=ada.bearer), 422, "validation_error")
    assert (refused["details"]["field"], "body." in refused["message"]) == (field, False)


async def test_a_path_field_of_the_wrong_shape_is_named(client: Client, ada: Person) -> None:
    response = await client.get(f"/api/notes/{'n' * 41}", headers=ada.bearer)
    assert assert_envelope(response, 422, "validation_error")["details"]["field"] == "path.note_id"


async def test_a_query_field_does_not_come_from_the_body(client: Client, ada: Person, notes: Notes) -> None:
    response = await client.post("/api/notes?sync=true", json={"text": "x", "sync": "ignored"}, headers=ada.bearer)
    assert response.status_code == 201
    faulty = await client.post("/api/notes?sync=perhaps", json={"text": "x"}, headers=ada.bearer)
    assert assert_envelope(faulty, 422, "validation_error")["details"]["field"] == "query.sync"


@pytest.mark.parametrize(
    ("body", "tag", "said"),
    [({"note_id": "n2", "text": "t"}, None, "n1 t None"), ({}, '"7"', "n1 None 7"), ({}, "7", "n1 None 7"),
     ({}, 'W/"7"', "n1 None 7"), ({"expected_revision": 3}, '"7"', "n1 None 3"), ({"text": "t"}, "*", "n1 t None"),
     ({"text": "t"}, " * ", "n1 t None"), (None, None, "n1 None None")],
)  # fmt: skip
async def test_path_and_body_win_and_a_header_stands_in_for_its_field(
    client: Client, ada: Person, body: dict[str, str | int] | None, tag: str | None, said: str
) -> None:
    headers = ada.bearer | ({} if tag is None else {"If-Match": tag})
    assert (await client.patch("/api/notes/n1", json=body, headers=headers)).json() == {"said": said}


@pytest.mark.parametrize(
    "tag", ["", '""', "abc", "0", "-1", "1.5", '"1', '"1", "2"', "**", '"*"', "9" * 400, "\u0663", '"1"; "2"']
)
async def test_a_malformed_precondition_is_named_as_the_header(client: Client, ada: Person, tag: str) -> None:
    headers = [*ada.bearer.items(), *((b"if-match", each.encode()) for each in tag.split("; "))]
    body = assert_envelope(await client.patch("/api/notes/n1", json={}, headers=headers), 422, "validation_error")
    assert body["details"]["field"] == "header.If-Match"
    assert "If-Match" in body["message"]
    assert "*" in body["remediation"]


async def test_an_empty_answer_has_no_body_and_no_type(client: Client, ada: Person) -> None:
    response = await client.delete("/api/notes/n1", headers=ada.bearer)
    assert response.status_code == 204
    assert response.content == b""
    assert "content-type" not in response.headers


async def test_a_fixed_path_wins_over_one_with_a_field(client: Client, ada: Person) -> None:
    assert (await client.get("/api/notes/recent", headers=ada.bearer)).json() == {"said": "recent"}
    response = await client.delete("/api/notes/recent", headers=ada.bearer)
    assert response.status_code == 204, "another method of the same path is the field's"


async def test_head_is_answered_like_get(client: Client, ada: Person) -> None:
    assert (await client.head("/api/notes", headers=ada.bearer)).status_code == 200


@pytest.mark.parametrize("key", ["", "has space", "é", "x" * 256])
async def test_a_malformed_idempotency_key_is_refused(client: Client, ada: Person, key: str) -> None:
    headers = [*ada.bearer.items(), (b"idempotency-key", key.encode())]
    response = await client.post("/api/notes", json={"text": "x"}, headers=headers)
    refused = assert_envelope(response, 400, "invalid_request")
    assert refused["details"]["field"] == "header.Idempotency-Key"


async def test_a_repeated_write_is_answered_from_its_key(client: Client, ada: Person, notes: Notes) -> None:
    headers = {**ada.bearer, "Idempotency-Key": "k1"}
    first = await client.post("/api/notes", json={"text": "once"}, headers=headers)
    again = await client.post("/api/notes", json={"text": "once"}, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert len(notes.kept) == 1
    other = await client.post("/api/notes", json={"text": "twice"}, headers=headers)
    assert_envelope(other, 409, "conflict")


async def test_a_protected_route_is_refused_before_its_body_is_read(client: Client) -> None:
    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    assert_envelope(await client.post("/api/notes", content=body()), 401, "authentication_required")


async def test_the_call_carries_the_request_id_and_the_address(client: Client, notes: Notes) -> None:
    await client.post("/api/say", headers={"X-Request-ID": "mine:1"})
    assert notes.seen[0].origin.request_id == "mine:1"
    assert notes.seen[0].origin.address == "127.0.0.1"
    assert notes.seen[0].principal is None
