"""What a search leaves out after its lanes were read takes no place of what it shows."""

from functools import partial
from typing import Any

import pytest

from tests.people import Person, caught_up
from tools.memory import memories
from tools.retrieval import pipeline
from tools.retrieval.plan import Plan
from tools.search import search

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane gives four candidates at first, so that small memories are like large ones."""
    monkeypatch.setattr(memories, "DEPTH", 4)
    monkeypatch.setattr(search, "Plan", partial(Plan, depth=4))


async def keep(who: Person, text: str, **fields: Any) -> str:
    return str((await who.call("store_raw_memory", raw_content=text, **fields))["id"])


async def test_many_archived_memories(member: Person) -> None:
    there = {await keep(member, f"Today the ferry to Lisbon leaves from pier {at}.") for at in range(2)}
    for at in range(20):
        archived = await keep(member, f"The ferry to Lisbon leaves: {at}.")
        await member.call("review_capture", capture_id=archived, review_state="archived")
    await caught_up(member)
    found = await member.call("recall", query="ferry to Lisbon leaves")
    assert {each["id"] for each in found["memories"]} == there
    found = await member.call("search", query="ferry to Lisbon leaves")
    assert ({each["id"] for each in found["results"]}, found["total"]) == (there, 2)


@pytest.mark.parametrize(
    "wanted",
    [{"thread_id": "7"}, {"labels": ["sundays"]}, {"participants": ["Zoe"]}, {"occurred_before": "2021-01-01"}],
)
async def test_many_memories_that_a_filter_leaves_out(member: Person, wanted: dict[str, Any]) -> None:
    for at in range(20):
        await keep(member, f"The deploy of the billing service failed on host {at}.", metadata={"thread_id": "noise"})
    rare = await keep(
        member,
        "Billing is closed on Sundays.",
        metadata={"thread_id": 7, "labels": ["Sundays"], "participants": ["Zoe"], "occurred_at": "2020-02-03"},
    )
    await caught_up(member)
    found = await member.call("search", query="the deploy of the billing service failed", **wanted)
    assert ([each["id"] for each in found["results"]], found["total"]) == ([rare], 1)


async def test_totals_count_only_reachable_candidates(member: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(30):
        await keep(member, f"The deploy of the billing service failed on host {at}.", metadata={"thread_id": "many"})
        archived = await keep(member, "The deploy of the billing service failed.")
        await member.call("review_capture", capture_id=archived, review_state="archived")
    await caught_up(member)
    monkeypatch.setattr(pipeline, "POOL_LIMIT", 12)
    pages = [
        await member.call("search", query="the deploy of the billing service failed", limit=5, offset=offset)
        for offset in (0, 5, 10)
    ]
    seen = [each["id"] for page in pages for each in page["results"]]
    assert (len(seen), len({*seen})) == (12, 12)
    assert {page["total"] for page in pages} == {12}


@pytest.mark.parametrize("wanted", [{"thread_id": "7"}, {"labels": ["sundays"]}, {}])
async def test_other_records_do_not_stand_in_for_memories(member: Person, wanted: dict[str, Any]) -> None:
    for at in range(60):
        await member.call("add", title=f"Deploy {at}", content="The deploy of the service failed.")
        left_out = await keep(member, f"The deploy of the billing service failed: {at}.")
        if not wanted:
            await member.call("review_capture", capture_id=left_out, review_state="archived")
    rare = await keep(member, "On Sunday the deploy was late.", metadata={"thread_id": "7", "labels": ["sundays"]})
    await caught_up(member)
    found = await member.call("search", query="deploy of the billing service failed", limit=50, **wanted)
    assert (found["raw_memory_count"], found["total"]) == (1, 61)
    assert rare in {each["id"] for each in found["results"]} or found["has_more"]
