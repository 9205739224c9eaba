from collections.abc import AsyncIterator, Iterable

import pytest

from tests.rest_bridge.harness import Client, Person, assert_envelope

pytestmark = pytest.mark.anyio


async def in_chunks(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@pytest.mark.parametrize(
    ("expected", "bodies"),
    [("JSON", [b"{", b"nonsense", b'{"text": "\xff"}', b"{'text': 'x'}", b'{"text": "x",}', b"[" * 5000, b"{} {}"]),
     ("object", [b"[]", b'"text"', b"5", b"null", b"true"])],
)  # fmt: skip
async def test_what_is_no_object_of_json_is_named(
    client: Client, ada: Person, expected: str, bodies: list[bytes]
) -> None:
    headers = {**ada.bearer, "Content-Type": "application/json"}
    for body in bodies:
        response = await client.post("/api/notes", content=body, headers=headers)
        details = assert_envelope(response, 422, "validation_error")["details"]
        assert details == {"field": "body", "expected": expected}, body


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"text": NaN}', "body.text"), (b'{"text": "x", "metadata": {"a\\u0000": 1}}', "body.metadata"),
        (b'{"text": "x", "metadata": {"k": NaN}}', "body.metadata.k"), (b'{"text": "\\ud800"}', "body.text"),
        (b'{"metadata": {"k": ["x\\uDFFF"]}}', "body.metadata.k.0"), (b'{"text": "\xed\xa0\x80"}', "body.text"),
    ],
)  # fmt: skip
async def test_what_no_store_keeps_is_named_by_its_place(client: Client, ada: Person, body: bytes, field: str) -> None:
    response = await client.post("/api/notes", content=body, headers=ada.bearer)
    assert assert_envelope(response, 422, "validation_error")["details"]["field"] == field


@pytest.mark.parametrize(
    "content_type",
    [None, "application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json", "application/json;"],
)
async def test_json_by_any_name_is_taken(client: Client, ada: Person, content_type: str | None) -> None:
    headers = {**ada.bearer, **({"Content-Type": content_type} if content_type else {})}
    response = await client.post("/api/notes", content=b'{"text": "x"}', headers=headers)
    assert response.status_code == 201


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml", "nope"])
async def test_another_content_type_is_refused(client: Client, ada: Person, content_type: str) -> None:
    headers = {**ada.bearer, "Content-Type": content_type}
    response = await client.post("/api/notes", content=b'{"text": "x"}', headers=headers)
    assert_envelope(response, 415, "unsupported_media_type")


async def test_an_empty_body_may_have_any_content_type(client: Client, ada: Person) -> None:
    headers = {**ada.bearer, "Content-Type": "text/plain;charset=UTF-8"}
    assert (await client.patch("/api/notes/n1", content=b"", headers=headers)).status_code == 200


async def test_a_body_is_taken_up_to_the_limit_and_refused_beyond(client: Client, ada: Person) -> None:
    most = 1000 - len('{"text":""}')
    assert (await client.post("/api/uploads", json={"text": "x" * most}, headers=ada.bearer)).json() == {
        "said": str(most)
    }
    response = await client.post("/api/uploads", json={"text": "x" * 1000}, headers=ada.bearer)
    assert "1000 bytes" in assert_envelope(response, 413, "payload_too_large")["message"]


async def test_a_chunked_body_is_refused_at_the_limit(client: Client, ada: Person) -> None:
    sent = []

    async def endless() -> AsyncIterator[bytes]:
        while True:
            sent.append(1)
            yield b"x" * 100

    response = await client.post("/api/uploads", content=endless(), headers=ada.bearer)
    assert_envelope(response, 413, "payload_too_large")
    assert len(sent) == 11


async def test_a_chunked_body_within_the_limit_is_taken(client: Client, ada: Person) -> None:
    body = in_chunks([b'{"te', b'xt": "', b"abc", b'"}'])
    response = await client.post("/api/uploads", content=body, headers=ada.bearer)
    assert response.json() == {"said": "3"}


async def test_a_content_length_that_is_no_number_does_not_raise_the_limit(client: Client, ada: Person) -> None:
    headers = {**ada.bearer, "Content-Length": "many"}
    response = await client.post("/api/uploads", content=b"x" * 2000, headers=headers)
    assert_envelope(response, 413, "payload_too_large")
