"""Projects among what is created: always synchronous, and with the words of the interface."""

import base64
import random
import time
from collections.abc import Sequence

import anyio
import numpy as np
import pytest

from stores.errors import ValidationFailed
from tests.embedders import CachingEmbedder, Vectors
from tests.people import Person, caught_up
from tests.tools.test_answers import asked
from tools.app import App

pytestmark = pytest.mark.anyio


async def test_technologies_are_kept_under_the_word_of_their_type(owner: Person) -> None:
    for entity_type, key, other in (("project", "tech_stack", "technologies"), ("task", "technologies", "tech_stack")):
        added = await owner.call("add", title="t", content="t", entity_type=entity_type, technologies=["python", "c"])
        assert added["entity"]["metadata"][key] == ["python", "c"]
        assert other not in added["entity"]["metadata"]
    added = await owner.call("add", title="t", content="t", entity_type="project")
    assert "tech_stack" not in added["entity"]["metadata"]


async def test_a_bulk_with_a_project_is_synchronous(owner: Person) -> None:
    head = owner.app.ledger.feed.head(owner.organization_id).sequence
    entities = [{"name": "P", "entity_type": "project"}, {"name": "walrus"}]
    created = await owner.call("bulk_create_entities", entities=entities)
    assert created["background_jobs"] == {"pending_indexes": []}
    assert all(entity["created_at"] and entity["updated_at"] for entity in created["entities"])
    assert created["entities"][0]["metadata"]["status"] == "active"
    told = owner.app.ledger.feed.changes(owner.organization_id, head, 10)
    assert {change.fields["mode"] for change in told if change.kind == "entity"} == {"sync"}
    found = await owner.call("search", query="walrus")
    assert created["entities"][1]["id"] in {hit["id"] for hit in found["results"]}


async def test_a_bulk_without_a_project_answers_at_once(owner: Person) -> None:
    created = await owner.call("bulk_create_entities", entities=[{"name": "a"}, {"name": "b"}])
    assert created["background_jobs"] is None
    assert {entity["created_at"] for entity in created["entities"]} == {None}


async def test_a_huge_text_is_answered_before_its_vectors(
    own_app: App, owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed_slowly(embedder: CachingEmbedder, texts: Sequence[str]) -> Vectors:
        time.sleep(0.2 * len(texts))
        return np.full((len(texts), embedder.dimension), embedder.dimension**-0.5, np.float32)

    monkeypatch.setattr(CachingEmbedder, "embed_documents", embed_slowly)
    block = base64.b64encode(random.Random(1).randbytes(30_000)).decode()
    with anyio.fail_after(5):
        created = await owner.call("create_entity", name="Block", content=block, sync=True)
    assert created["background_jobs"] == {"pending_indexes": ["vectors"]}
    answer, text = await asked(owner, "add", title="Block", content=f"The other: {block}")
    assert answer["background_jobs"] == created["background_jobs"]
    assert "pending_indexes: vectors" in text
    created = await owner.call("create_entity", name="Short", content="Behind the block.", sync=True)
    assert created["background_jobs"] == {"pending_indexes": []}


@pytest.mark.parametrize("sync", [True, False])
async def test_an_entity_is_found_by_its_keys_and_its_probes_are_rehearsed(owner: Person, sync: bool) -> None:
    told = {
        "retrieval_keys": ["blorkenheim"],
        "spans": [{"start": 0, "end": 4}],
        "probes": ["When do keys rotate?", "Who won the chess tournament in Oslo?"],
    }
    asked = {"name": "Rotation", "content": "Keys rotate weekly.", "entity_type": "note"}
    made = await owner.call(
        "create_entity", **asked, **told, atomic=True, skip_conflicts=True, metadata={"a": 1}, sync=sync
    )
    assert made["metadata"].items() >= {"a": 1, **told}.items()
    rehearsed = made["probe_rehearsal"]
    assert (rehearsed and [each["found"] for each in rehearsed]) == ([True, False] if sync else None)
    await caught_up(owner)
    assert [hit["id"] for hit in (await owner.call("search", query="blorkenheim"))["results"]] == [made["id"]]
    wrong = {**asked, "spans": [{"start": 4, "end": 99}]}
    error = await owner.refused("create_entity", ValidationFailed, **wrong)
    assert error.details["field"] == "body.spans.0"
    error = await owner.refused("bulk_create_entities", ValidationFailed, entities=[asked, wrong])
    assert error.details["field"] == "body.entities.1.spans.0"
    bulk = await owner.call("bulk_create_entities", entities=[{**asked, "retrieval_keys": ["quuxfold"]}])
    assert bulk["entities"][0]["metadata"]["retrieval_keys"] == ["quuxfold"]
