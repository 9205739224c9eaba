"""Imports over the catalogue: what is new is kept once, what changed is revised, what is wrong is named."""

from dataclasses import replace
from typing import Any

import pytest

from stores.errors import Conflict, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up

pytestmark = pytest.mark.anyio

SOURCE = "file:///home/ada/notes.jsonl"


def said(key: str, content: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "content": content, "origin": {"path": "notes.jsonl", "line": 1}} | more


async def begun(who: Person, **more: Any) -> str:
    started = await who.call("start_import", source_uri=SOURCE, adapter_name="jsonl", **more)
    assert started["status"] == "running"
    return str(started["import_id"])


async def sent(who: Person, import_id: str, *records: dict[str, Any], **more: Any) -> Any:
    return await who.call("keep_import_records", import_id=import_id, records=[*records], **more)


async def test_a_second_run_adds_only_what_is_new_and_revises_what_changed(owner: Person) -> None:
    import_id = await begun(owner)
    turn = {"thread_id": "t1", "speaker": "Ada", "participants": ["Ada"], "captured_at": "2025-03-01T10:00:00Z"}
    done = await sent(
        owner, import_id, said("a", "The pager moved."), said("b", "Heron ships on Friday.", metadata=turn),
        checkpoint={"file": "notes.jsonl", "items": 2}, completed=True,
    )  # fmt: skip
    assert (done["status"], done["progress"]["imported_count"], done["progress"]["raw_memory_count"]) == (
        "completed", 2, 2,
    )  # fmt: skip
    assert await begun(owner) == import_id
    again = await sent(owner, import_id, said("a", "The pager moved again."), said("b", "Heron ships on Friday."),
                       said("c", "Redis is gone."), completed=True)  # fmt: skip
    counts = again["progress"]
    assert [counts[f"{name}_count"] for name in ("imported", "superseded", "dedupe")] == [1, 1, 1]
    await caught_up(owner)
    found = await owner.call("search", query="When does Heron ship?", participants=["ada"], thread_id="t1")
    assert [hit["content"] for hit in found["results"]] == ["Heron ships on Friday."]
    memory = await owner.call("get_capture", capture_id=found["results"][0]["id"])
    assert memory["captured_at"].startswith("2025-03-01T10:00:00")
    assert memory["provenance"].items() >= {"import_id": import_id, "source": SOURCE, "path": "notes.jsonl"}.items()
    assert (memory["source_id"], memory["capture_surface"]) == ("b", "import:jsonl")


async def test_an_interrupted_import_goes_on_after_its_checkpoint(owner: Person) -> None:
    import_id = await begun(owner)
    await sent(owner, import_id, said("a", "One."), checkpoint={"file": "notes.jsonl", "items": 1})
    resumed = await owner.call("start_import", source_uri=SOURCE, adapter_name="jsonl")
    assert (resumed["checkpoint"], resumed["progress"]["imported_count"]) == ({"file": "notes.jsonl", "items": 1}, 1)


async def test_entities_carry_their_relations_and_an_unknown_type_keeps_its_name(owner: Person) -> None:
    project = (await owner.call("create_entity", name="Heron", entity_type="project"))["id"]
    import_id = await begun(owner, target_memory_scope="project", target_scope_key=project)
    records = [said(key, f"About {key}.", name=key, entity_type="topic") for key in ("Valkey", "Queue")]
    links = [
        {"source": "Queue", "relationship": "depends_on", "target": "Valkey"},
        {"source": "Valkey", "relationship": "adores", "target": "Queue"},
        {"source": "Queue", "relationship": "mentions", "target": "Nowhere"},
    ]
    done = await sent(owner, import_id, *records, relations=links, completed=True)
    assert (done["progress"]["imported_count"], done["progress"]["skipped_count"]) == (2, 1)
    (queue,) = [
        each for each in (await owner.call("list_entities", entity_type="topic"))["entities"] if each["name"] == "Queue"
    ]
    shown = await owner.call("get_entity", entity_id=queue["id"])
    assert shown["metadata"]["project_id"] == project
    assert {(each["relationship"], each["name"]) for each in shown["related"]} >= {
        ("DEPENDS_ON", "Valkey"), ("RELATED_TO", "Valkey"),
    }  # fmt: skip


async def test_a_refused_record_is_named_and_the_others_are_kept(owner: Person) -> None:
    import_id = await begun(owner)
    bad = said("bad", "Whenever.", metadata={"captured_at": "soon"})
    unmade = said("unmade", "Of nothing.", entity_type="task", metadata={"epic_id": "epic_none"})
    long = said("long", "x" * 60_000, entity_type="note")
    done = await sent(
        owner, import_id, said("good", "Kept."), bad, long, said("good", "Kept."), unmade, said("fine", "A.", name="A",
        entity_type="project"),
        skipped=[{"origin": {"path": "notes.jsonl", "line": 3}, "reason": "It is no JSON."}],
    )  # fmt: skip
    assert [done["progress"][f"{each}_count"] for each in ("imported", "dedupe", "error")] == [2, 1, 3]
    assert {each["key"] for each in done["errors"]} == {"bad", "unmade", "long"}
    (project,) = (await owner.call("list_entities", entity_type="project"))["entities"]
    assert (await owner.call("project_metrics", project_id=project["id"]))["metrics"]["project_name"] == "A"
    assert done["skipped_records"][0]["reason"] == "It is no JSON."


async def test_what_people_corrected_or_marked_wrong_does_not_come_back(owner: Person) -> None:
    import_id = await begun(owner)
    done = await sent(owner, import_id, said("a", "The port is 80."), said("b", "The port is 81."))
    first, second = done["raw_memory_ids"]
    await owner.call("correct_memory", source_id=first, action="wrong")
    await owner.call("correct_memory", source_id=second, action="revise", revised_content="The port is 8420.")
    again = await sent(owner, import_id, said("a", "The port is 80."), said("b", "The port is 81!"),
                       said("c", "The port is 80."), completed=True)  # fmt: skip
    assert [each["key"] for each in again["errors"]] == ["b", "c"]
    await caught_up(owner)
    assert (await owner.call("recall", query="port 80"))["memories"][0]["raw_content"] == "The port is 8420."


@pytest.mark.parametrize(("policy", "imported"), [("warn", 2), ("redact", 2), ("refuse", 1)])
async def test_credentials_are_kept_replaced_or_refused_record_by_record(
    owner: Person, policy: str, imported: int
) -> None:
    settings = owner.app.settings.model_copy(update={"secrets": policy})
    owner = replace(owner, app=replace(owner.app, settings=settings))
    secret = "ghp_" + "a1B2c3D4e5" * 4
    done = await sent(owner, await begun(owner), said("a", f"The token is {secret}."), said("b", "Fine."))
    counts = done["progress"]
    assert [counts[f"{each}_count"] for each in ("imported", "error")] == [imported, 2 - imported]
    queue = (await owner.call("list_review", kind="secret"))["items"]
    assert [each["id"] for each in queue] == (done["raw_memory_ids"][:1] if policy == "warn" else [])
    assert counts["credential_count"] == (policy != "refuse")
    kept = [each["raw_content"] for each in (await owner.call("list_captures"))["captures"]]
    assert (secret in "".join(kept)) is (policy == "warn")
    for each in queue:
        await owner.call("decide_review", item_id=each["id"], verb="approve")
    await sent(owner, await begun(owner), said("a", f"The token is {secret}."))
    assert (await owner.call("list_review", kind="secret"))["items"] == []


@pytest.mark.parametrize("policy", ["warn", "redact", "refuse"])
async def test_credentials_in_facts_are_kept_replaced_or_refused_fact_by_fact(owner: Person, policy: str) -> None:
    settings = owner.app.settings.model_copy(update={"secrets": policy})
    owner = replace(owner, app=replace(owner.app, settings=settings))
    ends = {"source": "a", "target": "b", "provenance": {"from": "relations"}}
    facts = [
        {**ends, "relationship": name, "fact": fact}
        for name, fact in (("REQUIRES", "password = hunter2secret"), ("BLOCKS", "A waits for b."))
    ]
    notes = [said(each, each, entity_type="note") for each in "ab"]
    done = await sent(owner, await begun(owner), *notes, relations=facts)
    counts = done["progress"]
    assert (counts["error_count"], counts["credential_count"]) == ((1, 0) if policy == "refuse" else (0, 1))
    assert (await owner.call("list_review", kind="secret"))["items"] == [], "there is no credential in the records"
    (note,) = [each for each in (await owner.call("list_entities"))["entities"] if each["content"] == "a"]
    kept = (await owner.call("list_relations", entity_id=note["id"]))["relations"]
    assert ("hunter2secret" in str(kept), "[redacted]" in str(kept)) == (policy == "warn", policy == "redact")
    assert len(kept) == (1 if policy == "refuse" else 2)
    again = await sent(owner, await begun(owner), relations=facts)
    assert again["progress"]["credential_count"] == counts["credential_count"], "asked once"


async def test_only_its_starter_sees_an_import_and_an_ended_one_takes_nothing(owner: Person, member: Person) -> None:
    import_id = await begun(owner)
    refusal = await member.refused("source_import", Forbidden, import_id=import_id)
    assert refusal.code == "source_import_forbidden"
    await member.refused("keep_import_records", Forbidden, import_id=import_id)
    assert (await owner.refused("source_import", NotFound, import_id="import_x")).code == "source_import_not_found"
    assert (await member.call("list_imports"))["imports"] == []
    assert (await owner.call("cancel_import", import_id=import_id))["status"] == "canceled"
    await owner.refused("keep_import_records", Conflict, import_id=import_id)
    assert (await owner.call("resume_import", import_id=import_id))["status"] == "running"


async def test_bad_starts_are_refused(owner: Person, stranger: Person) -> None:
    await owner.refused("start_import", InvalidRequest, source_uri=SOURCE, adapter_name="fax")
    project = (await owner.call("create_entity", name="Heron", entity_type="project"))["id"]
    place = {"target_memory_scope": "project", "target_scope_key": project}
    await stranger.refused("start_import", NotFound, source_uri=SOURCE, adapter_name="jsonl", **place)
    await owner.refused("keep_import_records", ValidationFailed, import_id="x", records=[{"key": "a"}])
    await owner.refused("keep_import_records", ValidationFailed, import_id="x", checkpoint={"file": "x" * 10_000})
