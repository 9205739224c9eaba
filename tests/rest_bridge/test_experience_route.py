"""Experiences over REST: what is wrong is named, and nothing of it is kept."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from tests.rest_bridge.harness import Client, Person, assert_envelope
from tests.rest_bridge.test_task_routes import entity
from tests.tools.experience.test_projections import parts, payload, step
from tools.experience.operations import BODY_LIMIT

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]

PATH = "/api/memory/experience"
STEP = "body.experience.observations.0"


@pytest.mark.parametrize(
    ("experience", "field"),
    [
        (payload(step(reward=1)), f"{STEP}.reward"),
        (payload(step(evidence=parts(1, reward=1))), f"{STEP}.evidence.0.reward"),
        (payload(step(ordinal="0")), f"{STEP}.ordinal"),
        (payload(step(ordinal=2**53)), f"{STEP}.ordinal"),
        (payload(step(evidence=parts(1, "x" * 1_000_001))), f"{STEP}.evidence.0.content"),
        (payload(step(evidence=parts(1, "a\0b"))), f"{STEP}.evidence.0.content"),
        (payload(step(), step()), "body.experience"),
        (payload(project_id=None), "body.experience.project_id"),
        ("run", "body.experience"),
        ({"experience": payload(), "also": 1}, "body.also"),
        (None, "body.experience"),
    ],
)
async def test_what_is_wrong_is_named_and_not_kept(client: Client, ada: Person, experience: Any, field: str) -> None:
    said = experience if field == "body.also" else {"experience": experience}
    response = await client.post(PATH, json=said, headers=ada.bearer)
    assert assert_envelope(response, 422, "validation_error")["details"]["field"] == field
    assert (await client.get("/api/entities/captures", headers=ada.bearer)).json()["total"] == 0


async def test_a_large_body_that_comes_slowly_holds_up_no_other(client: Client, ada: Person) -> None:
    steps = [step(f"o{n}", n, evidence=parts(1, "x" * 1_000_000)) for n in range(9)]
    run = payload(*steps, project_id=await entity(client, ada, "project"))
    body, headers = json.dumps({"experience": run}).encode(), {"Content-Type": "application/json"}
    begun, rest = anyio.Event(), anyio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield body[:1000]
        begun.set()
        await rest.wait()
        yield body[1000:]

    async def send() -> None:
        assert (await client.post(PATH, content=slowly(), headers=headers | ada.bearer)).status_code == 201

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(send)
        await begun.wait()
        assert (await client.post(PATH, content=body, headers=headers)).status_code == 401
        assert (await client.post(PATH, content=body, headers=headers | ada.bearer)).status_code == 201
        rest.set()


async def test_what_is_no_utf_8_or_too_large_is_not_kept(client: Client, ada: Person) -> None:
    body = json.dumps({"experience": payload()}).encode().replace(b"Exit", b"\xff\xfe")
    headers = ada.bearer | {"Content-Type": "application/json"}
    details = assert_envelope(await client.post(PATH, content=body, headers=headers), 422, "validation_error")
    assert details["details"] == {"field": "body", "expected": "JSON"}
    huge = headers | {"Content-Length": str(BODY_LIMIT + 1)}
    assert_envelope(await client.post(PATH, content=b"{}", headers=huge), 413, "payload_too_large")
    unknown = await client.post(PATH, json={"experience": payload(project_id="project_none")}, headers=headers)
    assert_envelope(unknown, 404, "not_found")
    assert (await client.get("/api/entities/captures", headers=ada.bearer)).json()["total"] == 0


async def test_a_run_is_kept_and_its_evidence_read_to_the_letter(client: Client, ada: Person) -> None:
    project = await entity(client, ada, "project")
    text = "naïve \U0001f9ed\r\n" * 3_000
    body = {"experience": payload(step(evidence=parts(2, text)), project_id=project), "defer_embeddings": False}
    response = await client.post(PATH, json=body, headers=ada.bearer | {"Idempotency-Key": "k"})
    assert response.status_code == 201, response.text
    receipt = response.json()
    assert (receipt["written_entities"], receipt["written_relationships"]) == (3, 3)
    again = await client.post(PATH, json=body, headers=ada.bearer | {"Idempotency-Key": "k"})
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    asked = {"source_id": "run-1", "observation_id": "o1", "evidence_id": "e1", "content_max_chars": 20_000}
    read = [
        (await client.get(PATH, params=asked | {"offset": offset}, headers=ada.bearer)).json() for offset in (0, 20_000)
    ]
    assert "".join(each["content"] for each in read) == text
    assert [each["has_more"] for each in read] == [True, False]
    missing = await client.get(PATH, params=asked | {"evidence_id": "e9"}, headers=ada.bearer)
    assert_envelope(missing, 404, "not_found")
