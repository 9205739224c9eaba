"""The review queue: what waits, and one verb for each decision."""

import pytest

from stores.errors import Conflict, NotFound
from tests.people import Person

pytestmark = pytest.mark.anyio

NOTES = "We decided to use Redis for Heron's queue."


async def waiting(who: Person, kind: str) -> list[str]:
    return [each["id"] for each in (await who.call("list_review", kind=kind))["items"]]


async def test_a_proposal_is_approved_in_other_words(owner: Person) -> None:
    await owner.call("reflect", content=NOTES, persist_review=True)
    (item,) = (await owner.call("list_review"))["items"]
    assert (item["kind"], item["reason"]) == ("candidate", "decision")
    done = await owner.call("decide_review", item_id=item["id"], verb="edit", content="Heron's queue is Valkey.")
    assert done["applied"] is True
    assert (await owner.call("get_entity", entity_id=done["entity_id"]))["content"] == "Heron's queue is Valkey."
    assert await waiting(owner, "candidate") == []
    await owner.refused("decide_review", Conflict, item_id=item["id"], verb="reject")


async def test_a_rejected_proposal_is_not_proposed_again(owner: Person) -> None:
    await owner.call("reflect", content=NOTES, persist_review=True)
    (item,) = await waiting(owner, "candidate")
    assert (await owner.call("decide_review", item_id=item, verb="reject"))["applied"] is True
    await owner.call("reflect", content=NOTES, persist_review=True)
    assert await waiting(owner, "candidate") == []


async def test_contested_memories_wait_for_admins(owner: Person, member: Person) -> None:
    scope = {"memory_scope": "organization"}
    kept = [(await owner.call("store_raw_memory", raw_content=f"Fact {n}.", **scope))["id"] for n in range(3)]
    for memory in kept:
        await owner.call("correct_memory", source_id=memory, action="wrong", reason="Ada says so")
    items = (await owner.call("list_review"))["items"]
    assert [each["reason"] for each in items] == ["mark_wrong: Ada says so"] * 3
    assert await waiting(member, "contested") == []
    await owner.call("decide_review", item_id=kept[0], verb="approve")
    await owner.call("decide_review", item_id=kept[1], verb="edit", content="Fact one.")
    await owner.call("decide_review", item_id=kept[2], verb="reject")
    assert await waiting(owner, "contested") == []
    assert (await member.call("get_capture", capture_id=kept[0]))["raw_content"] == "Fact 0."
    assert (await member.call("get_capture", capture_id=kept[1]))["raw_content"] == "Fact one."
    await owner.refused("inspect_memory", NotFound, source_id=kept[2])
    await owner.refused("decide_review", NotFound, item_id=kept[0], verb="approve")
