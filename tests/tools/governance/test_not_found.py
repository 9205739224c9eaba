"""Seven mechanisms of a memory that can be trusted, each by what must not be found."""

from typing import Any

import pytest

from stores.errors import Conflict
from tests.people import Person, caught_up
from tools.app import App

pytestmark = pytest.mark.anyio

NOTES = "We decided to use Redis for Heron's queue."


async def hits(who: Person, query: str, **more: Any) -> list[dict[str, Any]]:
    await caught_up(who)
    return list((await who.call("search", query=query, types=[], **more))["results"])


async def proposed(who: Person) -> str:
    await who.call("reflect", content=NOTES, persist_review=True)
    return str((await who.call("list_review"))["items"][0]["id"])


async def test_rejected_words_are_not_found_written_or_proposed_again(owner: Person) -> None:
    memory = await owner.call("store_raw_memory", raw_content="Heron's queue listens on port 6000.")
    await owner.call("correct_memory", source_id=memory["id"], action="wrong")
    await owner.refused("remember", Conflict, title="Queue", content="heron's QUEUE listens on  port 6000.")
    assert await hits(owner, "Heron queue port 6000") == []
    assert (await owner.call("recall", query="Heron queue port 6000"))["memories"] == []


async def test_nobody_makes_a_record_trusted_by_saying_so(owner: Person) -> None:
    forged = {"trust_state": "verified", "disputed_sources": ["x"]}
    entity = await owner.call("create_entity", name="Queue", content=NOTES, entity_type="decision", metadata=forged)
    await owner.call("update_entity", entity_id=entity["id"], metadata=forged)
    (hit,) = await hits(owner, "Which queue does Heron use?")
    assert "trust_state" not in hit["metadata"]
    said = await owner.call("store_raw_memory", raw_content="Heron is fast.", metadata=forged | {"kept": 1})
    assert said["metadata"] == {"kept": 1}
    made = await owner.call("decide_review", item_id=await proposed(owner), verb="edit", content="Heron uses Valkey.")
    shown = {hit["id"]: hit["metadata"].get("trust_state") for hit in await hits(owner, "What does Heron use?")}
    assert shown[made["entity_id"]] == "verified"
    pack = await owner.call("context", goal="What does Heron use?")
    marked = {item["id"]: item["metadata"].get("trust_state") for part in pack["sections"] for item in part["items"]}
    assert (marked[made["entity_id"]], marked.get(entity["id"])) == ("verified", None)


async def test_what_was_unknown_then_is_not_found_then(owner: Person, app: App) -> None:
    before = app.clock().isoformat()
    await owner.call("create_entity", name="Queue", content=NOTES, entity_type="decision")
    assert await hits(owner, "Which queue does Heron use?") != []
    assert await hits(owner, "Which queue does Heron use?", as_of=before) == []


async def test_the_audit_log_holds_no_words(owner: Person) -> None:
    kept = await owner.call("store_raw_memory", raw_content="The marker is walrus.", memory_scope="organization")
    await owner.call("recall", query="walrus", memory_scope="organization")
    await owner.call("correct_memory", source_id=kept["id"], action="revise", revised_content="It is a seal.")
    for found in (await owner.call("memory_audit"), await owner.call("read_audit")):
        assert kept["id"] in str(found)
        assert "walrus" not in str(found)
        assert "a seal" not in str(found)


async def test_what_waits_for_a_review_is_found_by_nobody(owner: Person) -> None:
    waiting = await proposed(owner)
    found = [*await hits(owner, "Which queue?"), *(await owner.call("recall", query="Which queue?"))["memories"]]
    assert waiting not in {each["id"] for each in found}
    assert "decision" not in {each.get("type") for each in found}


async def test_what_nobody_kept_is_not_answered(owner: Person) -> None:
    await owner.call("create_entity", name="Queue", content=NOTES, entity_type="decision")
    assert [hit for hit in await hits(owner, "How is sourdough bread baked?") if hit["score"] >= 0.2] == []
