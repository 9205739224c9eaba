"""POST /api/context/pack as clients in the field call it: fields of the past are ignored, `accurate` is refused."""

import httpx2
import pytest

from tests.people import Person, caught_up
from tests.rest_bridge.harness import Client

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("every_operation")]


async def ask(client: Client, person: Person, **body: object) -> httpx2.Response:
    return await client.post("/api/context/pack", json=body, headers={"Authorization": f"Bearer {person.token}"})


async def test_retired_fields_are_ignored_whatever_they_hold(client: Client, owner: Person) -> None:
    await owner.call("create_entity", name="A walk along the quay", entity_type="session")
    await caught_up(owner)
    retired = {
        "max_results_per_source": -7, "max_planned_queries": "many", "char_budget": None, "knn_type_overfetch": [1],
        "operational_note_dedupe_mode": "x", "operational_note_lane_mode": {},
    }  # fmt: skip
    answer = await ask(client, owner, goal="A walk", evidence=retired, max_planned_queries=0)
    assert answer.status_code == 200
    assert [hit["name"] for hit in answer.json()["evidence"]["results"]] == ["A walk along the quay"]


async def test_accurate_is_refused_with_the_way_to_migrate(client: Client, owner: Person) -> None:
    answer = await ask(client, owner, goal="x", evidence={"retrieval_mode": "accurate"})
    refused = answer.json()
    assert (answer.status_code, refused["error"]) == (422, "validation_error")
    assert "removed in release 1.4" in refused["message"]
    assert "`fast`" in refused["remediation"]
    assert refused["details"] == {"field": "body.evidence.retrieval_mode", "expected": "fast or naive"}


async def test_a_review_is_for_programs_and_evidence_is_null_unless_asked_for(client: Client, viewer: Person) -> None:
    answer = await ask(client, viewer, goal="x", intent="review")
    assert answer.status_code == 200
    assert answer.json()["evidence"] is None
