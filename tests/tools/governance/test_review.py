"""The review queue: what waits, and one verb for each decision, which is done whole or not at all."""

import asyncio

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
    wrong = await owner.call("store_raw_memory", raw_content="It is Kafka.")
    await owner.call("correct_memory", source_id=wrong["id"], action="wrong")
    await owner.refused("decide_review", Conflict, item_id=item["id"], verb="edit", content="It is Kafka.")
    assert (await owner.call("get_capture", capture_id=item["id"]))["candidate"]["content"] == NOTES
    done = await owner.call("decide_review", item_id=item["id"], verb="edit", content="Heron's queue is Valkey.")
    assert done["applied"] is True
    assert (await owner.call("get_entity", entity_id=done["entity_id"]))["content"] == "Heron's queue is Valkey."
    assert await waiting(owner, "candidate") == []
    await owner.refused("decide_review", Conflict, item_id=item["id"], verb="reject")


KEY = "ghp_a1B2c3D4e5F6g7H8i9J0"
SECRET = f"Deploy with {KEY} until Friday."


async def test_found_secrets_wait_without_being_shown(owner: Person, member: Person) -> None:
    scope = {"memory_scope": "organization"}
    own = (await member.call("store_raw_memory", raw_content=SECRET))["id"]
    kept, edited = [(await member.call("remember", title=each, content=SECRET + each, **scope)) for each in "ab"]
    made = await member.call("add", title="x", content="x", metadata={**scope, "db": {KEY: "x"}})
    queue = await owner.call("list_review", kind="secret")
    assert {each["id"]: each["reason"] for each in queue["items"]} == {
        kept["raw_memory_id"]: "issued key in content",
        edited["raw_memory_id"]: "issued key in content",
        made["id"]: "issued key in metadata.db.[redacted]",
    }
    told = await owner.call("memory_audit", action="memory.secret.found")
    assert (queue["total"], len(told["events"]), "a1B2" in str((queue, told))) == (3, 3, False)
    assert set(await waiting(member, "secret")) == {own, *(each["id"] for each in queue["items"])}
    await owner.refused("decide_review", NotFound, item_id=own, verb="reject")
    await owner.call("decide_review", item_id=kept["raw_memory_id"], verb="approve")
    edit = {"item_id": edited["raw_memory_id"], "verb": "edit", "content": "Deploy with the key in the vault."}
    await owner.call("decide_review", **edit)
    await owner.call("decide_review", item_id=made["id"], verb="reject")
    assert (await waiting(owner, "secret"), await waiting(member, "secret")) == ([], [own])
    await owner.refused("get_entity", NotFound, entity_id=made["id"])
    assert (await member.call("get_entity", entity_id=kept["id"]))["content"] == f"{SECRET}a"
    await owner.call("correct_memory", source_id=edited["raw_memory_id"], action="restore")
    for each in (edited["id"], edited["raw_memory_id"]):
        assert owner.app.ledger.records.revisions(owner.organization_id)[each] > 1
        assert "a1B2" not in str(await owner.call("inspect_memory", source_id=each))


async def test_of_simultaneous_decisions_on_a_secret_one_applies(owner: Person) -> None:
    secret = (await owner.call("store_raw_memory", raw_content=SECRET))["id"]
    verbs = ["approve", "reject"] * 4
    decisions = [owner.call("decide_review", item_id=secret, verb=verb) for verb in verbs]
    done = await asyncio.gather(*decisions, return_exceptions=True)
    assert sum(isinstance(each, dict) for each in done) == 1
    assert sum(isinstance(each, NotFound) for each in done) == len(verbs) - 1


async def test_a_rejected_proposal_is_not_proposed_again(owner: Person) -> None:
    await owner.call("reflect", content=NOTES, persist_review=True)
    (item,) = await waiting(owner, "candidate")
    assert (await owner.call("decide_review", item_id=item, verb="reject"))["applied"] is True
    await owner.call("reflect", content=NOTES, persist_review=True)
    assert await waiting(owner, "candidate") == []


async def test_contested_memories_wait_for_admins(owner: Person, member: Person) -> None:
    scope = {"memory_scope": "organization"}
    kept = [(await owner.call("store_raw_memory", raw_content=f"Fact {n}.", **scope))["id"] for n in range(4)]
    await owner.call("correct_memory", source_id=kept.pop(), action="hide")
    await owner.call("correct_memory", source_id=kept[0], action="revise", revised_content="Fact zero.")
    for memory in kept:
        await owner.call("correct_memory", source_id=memory, action="wrong", reason="Ada says so")
    items = (await owner.call("list_review"))["items"]
    assert [each["reason"] for each in items] == ["mark_wrong: Ada says so"] * 3
    assert await waiting(member, "contested") == []
    await owner.call("decide_review", item_id=kept[0], verb="approve")
    edited = await owner.call("decide_review", item_id=kept[1], verb="edit", content="Fact 1.")
    assert edited["applied"] is True
    await owner.call("decide_review", item_id=kept[2], verb="reject")
    assert await waiting(owner, "contested") == []
    assert (await member.call("get_capture", capture_id=kept[0]))["raw_content"] == "Fact zero."
    assert (await member.call("get_capture", capture_id=kept[1]))["raw_content"] == "Fact 1."
    await owner.refused("inspect_memory", NotFound, source_id=kept[2])
    await owner.refused("decide_review", NotFound, item_id=kept[0], verb="approve")
