"""Corrections: what leaves recall and search, what follows, what comes back, and what is refused."""

from typing import Any

import pytest

from stores.errors import Conflict, Forbidden, NotFound
from tests.people import Person, caught_up
from tools.app import App

pytestmark = pytest.mark.anyio

WRONG = "The staging database of Heron runs PostgreSQL 12 on port 6000."
RIGHT = "The staging database of Heron runs PostgreSQL 16 on port 5432."
HIDE = {"action": "hide"}
QUESTION = "Which database does Heron use on staging?"


async def keep(author: Person, content: str, **fields: Any) -> tuple[str, str]:
    kept = await author.call("remember", title="Heron's database", content=content, **fields)
    return kept["raw_memory_id"], kept["id"]


async def correct(who: Person, memory_id: str, action: str, **fields: Any) -> dict[str, Any]:
    found = await who.call("correct_memory", source_id=memory_id, action=action, **fields)
    assert found["allowed"] is found["applied"] is True, found
    return dict(found)


async def found_by(who: Person, **scope: Any) -> set[str]:
    await caught_up(who)
    recalled = await who.call("recall", query=QUESTION, **scope)
    hits = await who.call("search", query=QUESTION, types=[])
    pack = await who.call("context", goal=QUESTION)
    ids = {each["id"] for each in recalled["memories"]} | {each["id"] for each in hits["results"]}
    return ids | {item["id"] for section in pack["sections"] for item in section["items"]}


@pytest.mark.parametrize("action", ["hide", "mark_sensitive", "mark_stale", "mark_wrong"])
async def test_a_corrected_memory_is_found_nowhere_until_it_is_restored(owner: Person, action: str) -> None:
    memory, entity = await keep(owner, WRONG)
    assert {memory, entity} <= await found_by(owner)
    done = await correct(owner, memory, action, reason="Nobody uses it")
    assert done["affected_derived_ids"] == [entity]
    assert done["recall_impact"] == {"excluded_from_recall": True, "withheld_derived_ids": [entity]}
    assert not {memory, entity} & await found_by(owner)
    await owner.refused("get_entity", NotFound, entity_id=entity)
    await owner.refused("get_capture", NotFound, capture_id=memory)
    listed = await owner.call("list_captures")
    assert memory not in {each["id"] for each in listed["captures"]}
    seen = await owner.call("inspect_memory", source_id=memory)
    assert seen["raw_content"] == WRONG
    assert [each["action"] for each in seen["correction_history"]] == [action]
    await correct(owner, memory, "restore")
    assert {memory, entity} <= await found_by(owner)


async def test_a_revision_reaches_what_copies_the_memory_and_is_undone(owner: Person) -> None:
    memory, entity = await keep(owner, WRONG)
    done = await correct(owner, memory, "revise", revised_content=RIGHT)
    assert (done["revision"], done["target_lifecycle_state"]) == (2, "active")
    assert (await owner.call("get_entity", entity_id=entity))["content"] == RIGHT
    assert (await owner.call("get_capture", capture_id=memory))["raw_content"] == RIGHT
    await correct(owner, memory, "restore")
    assert (await owner.call("get_entity", entity_id=entity))["content"] == WRONG
    assert (await owner.call("inspect_memory", source_id=entity))["raw_content"] == WRONG


async def test_what_rests_on_another_source_too_stays_and_is_disputed(owner: Person) -> None:
    first, _ = await keep(owner, WRONG)
    second, _ = await keep(owner, "Heron's staging was set up by Ada in March.")
    metadata = {"raw_source_ids": [first, second]}
    claim = await owner.call("add", title="Heron", content="Ada set Heron up.", entity_type="claim", metadata=metadata)
    done = await correct(owner, first, "mark_wrong")
    assert claim["id"] in done["synthesis_impact"]["disputed_derived_ids"]
    seen = await owner.call("get_entity", entity_id=claim["id"])
    assert seen["metadata"]["trust_state"] == "disputed"
    assert seen["metadata"]["disputed_sources"] == [first]
    await correct(owner, second, "hide")
    await owner.refused("get_entity", NotFound, entity_id=claim["id"])
    await correct(owner, second, "restore")
    await correct(owner, first, "restore")
    assert "trust_state" not in (await owner.call("get_entity", entity_id=claim["id"]))["metadata"]


async def test_words_that_were_marked_wrong_do_not_come_back(owner: Person) -> None:
    memory, _ = await keep(owner, WRONG)
    await correct(owner, memory, "mark_wrong")
    again = await owner.refused("remember", Conflict, title="Again", content=f"  {WRONG.upper()} ", kind="claim")
    assert again.details == {"rejected": memory}
    await owner.refused("store_raw_memory", Conflict, raw_content=WRONG)
    mine = {"metadata": {"memory_scope": "private"}}
    await owner.refused("add", Conflict, title="x", content=WRONG, **mine)
    other = await owner.call("add", title="x", content="x", **mine)
    await owner.refused("update_entity", Conflict, entity_id=other["id"], content=WRONG)
    right, _ = await keep(owner, RIGHT)
    revised = await owner.call("correct_memory", source_id=right, action="revise", revised_content=WRONG)
    assert (revised["applied"], revised["reason"]) == (False, "rejected_revised_content")
    known = (await owner.call("store_raw_memory", raw_content=WRONG, memory_scope="organization"))["id"]
    shared = await owner.call("share_memories", source_ids=[known], target_scope="private")
    assert (shared["applied"], shared["reason"]) == (False, "rejected_words")
    await correct(owner, memory, "restore")
    assert (await owner.call("remember", title="Again", content=WRONG))["raw_memory_id"] == memory


async def test_a_reflected_statement_that_was_marked_wrong_is_not_proposed_again(owner: Person) -> None:
    notes = "We decided to use Redis for Heron's queue."
    first = await owner.call("reflect", content=notes, persist_review=True)
    sources = (await owner.call("list_captures", entity_type="raw_memory"))["captures"]
    await correct(owner, sources[0]["id"], "mark_wrong")
    waiting = await owner.call("list_captures", entity_type="reflection_candidate")
    assert (first["candidates"] != [], waiting["captures"]) == (True, [])
    await owner.call("reflect", content=notes, persist_source=False, persist_review=True)
    assert (await owner.call("list_captures", entity_type="reflection_candidate"))["captures"] == []


async def test_deleting_erases_the_words_and_what_quotes_them(app: App, owner: Person) -> None:
    memory, entity = await keep(owner, WRONG)
    other, _ = await keep(owner, RIGHT)
    quoting = await owner.call(
        "add", title="Guide", content=f"Setup. {WRONG} Restart.", metadata={"raw_source_ids": [memory, other]}
    )
    assert await owner.call("preview_correction", source_id=memory, action="delete")
    assert (await owner.call("inspect_memory", source_id=memory))["lifecycle"]["state"] == "active"
    done = await correct(owner, memory, "delete")
    assert (done["revision"], done["reversible"]) == (None, False)
    assert set(done["affected_derived_ids"]) == {entity, quoting["id"]}
    for gone in (entity, quoting["id"]):
        assert app.ledger.records.entity(owner.organization_id, gone) is None
    await owner.refused("inspect_memory", NotFound, source_id=memory)
    assert (await owner.call("store_raw_memory", raw_content=WRONG))["id"] != memory


async def test_redacting_keeps_the_record_without_its_words(app: App, owner: Person) -> None:
    memory, entity = await keep(owner, WRONG, tags=["Heron"], metadata={"of": "Heron"})
    await correct(owner, memory, "revise", revised_content=f"{WRONG} Really.")
    await correct(owner, memory, "redact")
    seen = await owner.call("inspect_memory", source_id=memory)
    assert (seen["raw_content"], "Heron" in str(seen)) == ("[redacted]", False)
    assert app.ledger.records.entity(owner.organization_id, entity) is None
    await correct(owner, memory, "restore")
    assert (await owner.call("get_capture", capture_id=memory))["raw_content"] == "[redacted]"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"action": "mark_duplicate"}, "missing_duplicate_source"),
        ({"action": "supersede"}, "missing_replacement_source"),
        ({"action": "supersede", "replacement_source_id": "raw_memory_0"}, "replacement_source_not_found"),
        ({"action": "revise"}, "missing_revised_content"),
        ({"action": "revise", "revised_content": WRONG}, "unchanged_revised_content"),
        ({"action": "restore"}, "nothing_to_restore"),
    ],
)
async def test_a_refused_correction_says_why_and_changes_nothing(
    owner: Person, fields: dict[str, Any], reason: str
) -> None:
    memory, _ = await keep(owner, WRONG)
    for operation in ("preview_correction", "correct_memory"):
        found = await owner.call(operation, source_id=memory, **fields)
        assert (found["allowed"], found["applied"], found["reason"]) == (False, False, reason)
    assert (await owner.call("inspect_memory", source_id=memory))["revision"] == 1


async def test_a_reference_must_be_another_memory_that_is_recalled(owner: Person) -> None:
    wrong, _ = await keep(owner, WRONG)
    right, _ = await keep(owner, RIGHT)

    async def reason(other: str) -> str:
        fields = {"source_id": wrong, "action": "supersede", "replacement_source_id": other}
        return str((await owner.call("preview_correction", **fields))["reason"])

    assert await reason(wrong) == "replacement_source_self_reference"
    assert await reason(right) == "supersede_preview_allowed"
    await correct(owner, right, "hide")
    assert await reason(right) == "replacement_source_not_recallable"


async def test_a_stale_revision_is_a_conflict(owner: Person) -> None:
    memory, _ = await keep(owner, WRONG)
    await correct(owner, memory, "hide", expected_revision=1)
    for operation in ("preview_correction", "correct_memory"):
        await owner.refused(operation, Conflict, source_id=memory, action="restore", expected_revision=1)
    assert (await owner.call("inspect_memory", source_id=memory))["lifecycle"]["flags"] == ["hidden"]


async def test_members_correct_their_own_private_memories_alone(owner: Person, member: Person, viewer: Person) -> None:
    own, _ = await keep(member, WRONG)
    shared, _ = await keep(owner, RIGHT, memory_scope="organization")
    await correct(member, own, "mark_wrong")
    assert [each["id"] for each in (await member.call("list_review"))["items"]] == [own]
    await member.call("decide_review", item_id=own, verb="approve")
    for who, source in ((member, shared), (member, "raw_memory_0"), (viewer, own)):
        for operation, more in (("inspect_memory", {}), ("preview_correction", HIDE), ("correct_memory", HIDE)):
            await who.refused(operation, Forbidden, source_id=source, match="insufficient_org_role", **more)


async def test_each_correction_stands_in_the_audit_log(owner: Person) -> None:
    memory, entity = await keep(owner, WRONG, memory_scope="organization")
    await owner.call("preview_correction", source_id=memory, action="hide")
    await correct(owner, memory, "hide", reason="old", metadata={"ticket": "T-1"})
    events = (await owner.call("memory_audit", source_id=memory))["events"]
    actions = [each["action"] for each in events]
    assert actions == ["memory.correction.hide", "memory.correction.hide.preview", "memory.remember"]
    assert (events[0]["derived_ids"], events[0]["details"]["metadata"]) == ([entity], {"ticket": "T-1"})
    assert (await owner.call("memory_audit", derived_id=entity, policy_allowed=False))["events"] == []
    assert "PostgreSQL" not in str(events)
