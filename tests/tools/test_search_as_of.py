"""Search as of a moment: every record that was there and matched is found, whatever came or changed since."""

from typing import Any

import pytest

from tests.people import Person
from tools.retrieval.plan import LANE_DEPTH

pytestmark = pytest.mark.anyio

CROWD = LANE_DEPTH + 40


async def settle(owner: Person, *entity_ids: str) -> None:
    head = owner.app.ledger.feed.head(owner.organization_id).sequence
    await owner.app.indexer.applied_within(owner.organization_id, head, entity_ids, 60)


async def crowd(owner: Person, name: str) -> None:
    for start in range(0, CROWD, 100):
        many = [{"name": f"{name} {number}"} for number in range(start, min(start + 100, CROWD))]
        await owner.call("bulk_create_entities", entities=many, sync=True)
    await settle(owner)


async def found(owner: Person, query: str, **fields: Any) -> list[str]:
    return [hit["name"] for hit in (await owner.call("search", query=query, **fields))["results"]]


async def test_neither_later_records_nor_others_of_the_same_words_crowd_out_what_was_there(owner: Person) -> None:
    text = "A widget that is broken goes to the bin"
    await owner.call("create_entity", name="Waste", content=text, category="rare", sync=True)
    then = owner.app.clock().isoformat()
    await crowd(owner, "broken widget")
    assert await found(owner, "broken widget", as_of=then) == ["Waste"]
    assert await found(owner, "widget", category="rare", as_of="2099-01-01") == ["Waste"]
    assert await found(owner, "widget", category="rare", as_of=then) == ["Waste"]
    assert (await owner.call("search", query="widget", as_of=then))["total"] == 1


async def test_a_record_is_found_by_the_words_it_had_then_and_not_by_todays(owner: Person) -> None:
    made = await owner.call("create_entity", name="Copper kettle", content="Boils water.", sync=True)
    then = owner.app.clock().isoformat()
    await owner.call("update_entity", entity_id=made["id"], name="Zinc bathtub", content="Holds laundry.")
    await settle(owner, made["id"])
    past = (await owner.call("search", query="copper kettle", as_of=then))["results"][0]
    assert (past["name"], past["score"] >= 0.9) == ("Copper kettle", True)
    today = (await owner.call("search", query="Zinc bathtub", as_of=then))["results"]
    assert all(hit["score"] < 0.3 for hit in today)
    assert await found(owner, '"boils water"', as_of=then) == ["Copper kettle"]
    assert (await owner.call("search", query="copper kettle"))["results"][0]["score"] < 0.9


async def test_a_record_whose_text_stayed_is_found_by_meaning_and_by_the_facets_of_then(owner: Person) -> None:
    content = "Never deploy on a Friday afternoon; wait until Monday."
    made = await owner.call("create_entity", name="Deploy on Fridays", content=content, category="old", sync=True)
    then = owner.app.clock().isoformat()
    await owner.call("update_entity", entity_id=made["id"], category="new")
    await settle(owner, made["id"])
    question = "when should we not release to production?"
    hit = (await owner.call("search", query=question, as_of=then, category="old"))["results"][0]
    assert hit["name"] == "Deploy on Fridays"
    assert "vector" in hit["metadata"]["retrieval_signals"]
    assert hit["metadata"]["category"] == "old"
    assert await found(owner, question, as_of=then, category="new") == []
