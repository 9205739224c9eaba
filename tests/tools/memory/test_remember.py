"""Remembering keeps what was said and what is known by it, once, and so that it is found."""

import asyncio
import json
from typing import Any

import pytest

from stores.errors import EngrainError, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up, person
from tests.tools.memory.test_memories import a_project
from tools.app import App

pytestmark = pytest.mark.anyio

WALRUS = "The walrus cache must be flushed before each granite release."


async def remember(who: Person, content: str = WALRUS, **fields: Any) -> dict[str, Any]:
    return dict(await who.call("remember", title=fields.pop("title", "Flush"), content=content, **fields))


async def found(who: Person, query: str, **fields: Any) -> list[str]:
    return [hit["id"] for hit in (await who.call("search", query=query, **fields))["results"]]


async def capture(who: Person, memory_id: str) -> dict[str, Any]:
    return dict(await who.call("get_capture", capture_id=memory_id))


async def a_task(who: Person, project: str, *, start: bool = True, **fields: Any) -> str:
    made = await who.call("create_task", title="Work", project_id=project, **fields)
    if start:
        await who.call("start_task", task_id=made["task_id"])
    return str(made["task_id"])


async def linked(who: Person, entity_id: str) -> set[tuple[str, str]]:
    relations = (await who.call("list_relations", entity_id=entity_id))["relations"]
    told = {(each["name"], each["target_id"]) for each in relations if each["source_id"] == entity_id}
    return {each for each in told if each[0] != "BELONGS_TO"}


async def test_it_keeps_the_words_and_an_entity_made_of_them(member: Person) -> None:
    text = f"  {WALRUS}\r\n\t"
    kept = await remember(
        member, text, kind="rule", domain="caching", tags=["ops"], metadata={"ticket": 7, "captured_at": "2026-03-01"}
    )
    assert (kept["success"], kept["already_known"], kept["entity_type"]) == (True, False, "rule")
    assert kept["background_jobs"] == {"pending_indexes": []}
    raw = await capture(member, kept["raw_memory_id"])
    assert (raw["raw_content"], raw["title"], raw["tags"]) == (text, "Flush", ["ops"])
    assert (raw["capture_surface"], raw["capture_mode"]) == ("remember", "remember")
    assert (raw["entity_id"], raw["entity_type"], raw["review_state"]) == (kept["id"], "rule", "promoted")
    assert raw["captured_at"] == "2026-03-01T00:00:00Z"
    entity = await member.call("get_entity", entity_id=kept["id"])
    assert (entity["name"], entity["content"], entity["tags"]) == ("Flush", text, ["ops"])
    said = {key: entity["metadata"][key] for key in ("ticket", "domain", "raw_memory_id", "memory_scope")}
    assert said == {"ticket": 7, "domain": "caching", "raw_memory_id": kept["raw_memory_id"], "memory_scope": "private"}
    assert set(await found(member, "walrus cache granite")) == {kept["id"]}


async def test_what_is_private_is_nobody_elses(owner: Person, member: Person) -> None:
    kept = await remember(member)
    for record in (kept["id"], kept["raw_memory_id"]):
        await owner.refused("get_entity", NotFound, entity_id=record)
    assert await found(owner, WALRUS) == []
    again = await remember(owner)
    assert (again["already_known"], again["conflicts"]) == (False, [])


async def test_with_a_project_it_is_for_those_with_a_role_in_it(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    kept = await remember(owner, project=project)
    assert (kept["memory_scope"], kept["scope_key"]) == ("project", project)
    await member.refused("get_entity", NotFound, entity_id=kept["id"])
    with pytest.raises(EngrainError, match=r"project|unverified"):
        await remember(member, project=project)
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_contributor")
    again = await remember(member, project=project)
    assert (again["already_known"], again["id"]) == (True, kept["id"])
    mine = await remember(member, project=project, memory_scope="private")
    assert (mine["already_known"], mine["memory_scope"]) == (False, "private")
    assert (await member.call("get_entity", entity_id=mine["id"]))["metadata"]["project_id"] == project


async def test_a_team_remembers_for_everybody(owner: Person, member: Person, viewer: Person) -> None:
    kept = await remember(member, memory_scope="organization")
    assert (await viewer.call("get_entity", entity_id=kept["id"]))["content"] == WALRUS
    team = (await owner.call("create_team", name="Core"))["id"]
    await owner.call("add_team_member", team_id=team, user_id=member.user_id)
    ours = await remember(member, memory_scope="team", scope_key=team)
    assert (ours["memory_scope"], ours["scope_key"], ours["already_known"]) == ("team", team, False)
    await viewer.refused("get_entity", NotFound, entity_id=ours["id"])


@pytest.mark.parametrize(
    ("fields", "error", "word"),
    [
        ({"memory_scope": "project"}, InvalidRequest, "missing_scope_key"),
        ({"memory_scope": "team", "scope_key": "x"}, Forbidden, "unverified_membership"),
        ({"memory_scope": "public"}, Forbidden, "scope_not_enabled"),
        ({"project": "project_000000000000"}, EngrainError, "project_000000000000"),
        ({"related_to": ["note_000000000000"]}, NotFound, "note_000000000000"),
        ({"task_ids": ["note_000000000000"]}, NotFound, "note_000000000000"),
        ({"kind": "task"}, ValidationFailed, "type"),
        ({"content": "  \n"}, ValidationFailed, "content"),
        ({"metadata": {"captured_at": "some day"}}, ValidationFailed, "captured_at"),
        ({"spans": [{"start": 0, "end": len(WALRUS) + 1}]}, ValidationFailed, "spans.0"),
        ({"spans": [{"start": 1, "end": 2}, {"start": 5, "end": 5}]}, ValidationFailed, "spans.1"),
        ({"spans": [{"start": -1, "end": 5}]}, ValidationFailed, "spans"),
        ({"content": "x" * 50_001, "atomic": True}, ValidationFailed, "50001"),
    ],
)
async def test_errors_keep_nothing(
    member: Person, fields: dict[str, Any], error: type[EngrainError], word: str
) -> None:
    with pytest.raises(error) as refused:
        await remember(member, **({"content": WALRUS} | fields))
    assert word in f"{refused.value} {refused.value.code} {refused.value.details}"
    assert (await member.call("list_captures"))["total"] == 0
    assert (await member.call("explore"))["total"] == 0


async def test_a_time_that_is_no_date_is_kept_and_said_to_count_as_missing(member: Person) -> None:
    told = await remember(member, content=WALRUS, metadata={"occurred_at": "07/05/2026"})
    assert "metadata.occurred_at is no date" in told["message"]
    capture = await member.call("get_capture", capture_id=told["raw_memory_id"])
    assert (capture["metadata"]["occurred_at"], capture["unread_dates"]) == ("07/05/2026", ["occurred_at"])
    assert "no date" not in (await remember(member, content="Other.", metadata={"occurred_at": "2026-05"}))["message"]


async def test_the_same_words_are_recognised_and_linked(member: Person) -> None:
    other = await member.call("create_entity", name="Cache", entity_type="topic")
    first = await remember(member, kind="rule")
    second = await remember(member, kind="claim", related_to=[f"about:{other['id']}"])
    assert (second["already_known"], second["entity_type"]) == (True, "rule")
    assert (second["id"], second["raw_memory_id"]) == (first["id"], first["raw_memory_id"])
    assert "Known already" in second["message"]
    assert "1 link" in second["message"]
    assert await linked(member, first["id"]) == {("ABOUT", other["id"])}
    third = await remember(member, related_to=[f"about:{other['id']}"])
    assert third["id"] == first["id"]
    assert (await member.call("list_captures"))["total"] == 1
    assert len((await member.call("list_relations", entity_id=first["id"]))["relations"]) == 1
    other_words = await remember(member, WALRUS + " ")
    assert not other_words["already_known"]


async def test_another_title_of_known_words_finds_them_and_what_is_not_applied_is_said(member: Person) -> None:
    first = await remember(member, kind="rule", tags=["cache"])
    assert (first["found_by"], first["not_applied"]) == ([], [])
    second = await remember(member, title="Zibbelquam", kind="claim", tags=["other"], retrieval_keys=["quuxfold"])
    assert (second["id"], second["found_by"]) == (first["id"], ["Zibbelquam", "quuxfold"])
    assert second["not_applied"] == ["kind", "tags"]
    for said in ("“Zibbelquam”", "not applied: kind, tags", f"supersedes:{first['id']}"):
        assert said in second["message"]
    read = await member.call("get_entity", entity_id=first["id"])
    assert (read["name"], read["entity_type"], read["tags"]) == ("Flush", "rule", ["cache"])
    assert await found(member, "Zibbelquam", types=["rule"]) == [first["id"]]
    again = await remember(member, title="zibbelquam")
    assert (again["found_by"], again["not_applied"]) == ([], [])


async def test_known_words_are_taken_for_something_else_by_superseding(member: Person) -> None:
    first = await remember(member, kind="rule")
    second = await remember(member, title="Claimed", kind="claim", related_to=[f"supersedes:{first['id']}"])
    assert (second["already_known"], second["entity_type"]) == (False, "claim")
    assert (second["raw_memory_id"], second["id"] != first["id"]) == (first["raw_memory_id"], True)
    assert await found(member, "walrus cache granite", types=["rule", "claim"]) == [second["id"]]
    recalled = await member.call("recall", query="walrus cache granite")
    assert [each["id"] for each in recalled["memories"]] == [first["raw_memory_id"]]
    assert (await capture(member, first["raw_memory_id"]))["entity_id"] == second["id"]
    assert (await remember(member, kind="claim", title="Claimed"))["id"] == second["id"]


async def test_what_somebody_may_not_change_is_not_called_otherwise(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    first = await remember(owner, memory_scope="organization")
    await owner.call("update_entity", entity_id=first["id"], metadata={"project_id": project})
    second = await remember(member, memory_scope="organization", title="Zibbelquam")
    assert (second["id"], second["found_by"], second["not_applied"]) == (first["id"], [], ["title"])
    assert "retrieval_keys" not in (await owner.call("get_entity", entity_id=first["id"]))["metadata"]


async def test_it_stands_in_the_audit_log_with_ids_and_no_text(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    kept = await remember(owner, project=project, title="Zibbelquam")
    raw = await owner.call("store_raw_memory", raw_content="Quuxfold.", memory_scope="organization")
    hidden = await remember(member)
    await remember(owner, project=project, title="Zibbelquam")
    log = (await owner.call("read_audit", action="memory.remember"))["entries"]
    assert [(each["target"], each["details"]["derived_ids"]) for each in reversed(log)] == [
        (kept["raw_memory_id"], [kept["id"]]),
        (raw["id"], []),
    ]
    assert log[-1]["details"]["scope_key"] == project
    for word in ("Zibbelquam", "Quuxfold", "walrus", hidden["id"], hidden["raw_memory_id"]):
        assert word not in json.dumps(log)


async def test_words_that_were_kept_before_get_their_entity(member: Person) -> None:
    raw = await member.call("store_raw_memory", raw_content=WALRUS)
    kept = await remember(member)
    assert (kept["raw_memory_id"], kept["already_known"]) == (raw["id"], False)
    await member.run("delete_entity", entity_id=kept["id"])
    again = await remember(member)
    assert (again["raw_memory_id"], again["already_known"]) == (raw["id"], False)
    read = await capture(member, raw["id"])
    assert (read["entity_id"], read["review_state"]) == (again["id"], "promoted")
    assert (await remember(member))["id"] == again["id"]


async def test_what_was_superseded_can_be_remembered_again(member: Person) -> None:
    old = await remember(member, "We use Kafka for the orchid queue.", kind="decision")
    new = await remember(member, "We use NATS for it now.", kind="decision", related_to=[f"supersedes:{old['id']}"])
    await caught_up(member)
    assert await found(member, "orchid queue Kafka", types=["decision"]) == [new["id"]]
    back = await remember(
        member, "We use Kafka for the orchid queue.", kind="decision", related_to=[f"supersedes:{new['id']}"]
    )
    assert (back["already_known"], back["id"] in (old["id"], new["id"])) == (False, False)
    assert await found(member, "orchid queue Kafka", types=["decision"]) == [back["id"]]
    assert (await remember(member, "We use Kafka for the orchid queue."))["id"] == back["id"]


async def test_nobody_retires_what_is_not_theirs_to_change(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    rule = await owner.call("create_entity", name="Rule", entity_type="rule", metadata={"project_id": project})
    with pytest.raises(Forbidden):
        await remember(member, memory_scope="organization", related_to=[f"supersedes:{rule['id']}"])
    assert (await member.call("list_captures"))["total"] == 0


async def test_a_near_duplicate_is_named_and_kept(member: Person) -> None:
    first = await remember(member, kind="rule")
    second = await remember(member, WALRUS + " Always.", kind="rule")
    assert [each["id"] for each in second["conflicts"]] == [first["id"]]
    assert "1 similar record" in second["message"]
    assert second["id"] != first["id"]


async def test_the_task_in_progress_is_linked(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_contributor")
    waiting = await a_task(member, project, start=False)
    theirs = await a_task(owner, project)
    shared = await remember(member, "One.", project=project)
    assert shared["active_task_id"] == theirs, "nobody else is doing anything"
    assert (await remember(member, "Two."))["active_task_id"] is None, "no task of one's own"
    first = await a_task(member, project)
    second = await a_task(member, project)
    await a_task(owner, project)
    assert first != second
    kept = await remember(member, "Three.", project=project, task_ids=[waiting])
    assert kept["active_task_id"] == second
    assert await linked(member, kept["id"]) == {("RELATED_TO", second), ("RELATED_TO", waiting)}
    assert (await remember(member, "Four."))["active_task_id"] == second
    alone = await remember(member, "Five.", project=project, active_task=False)
    assert (alone["active_task_id"], await linked(member, alone["id"])) == (None, set())
    elsewhere = await remember(owner, "Six.", project=await a_project(owner))
    assert elsewhere["active_task_id"] is None


async def test_retrieval_keys_find_it_and_tags_do_not(member: Person) -> None:
    kept = await remember(member, tags=["zebrafinch"], retrieval_keys=["INC-4711", "blorkenheim"])
    for query in ("INC-4711", "blorkenheim"):
        assert (await found(member, query, types=["episode"]))[:1] == [kept["id"]], query
    hits = (await member.call("search", query="zebrafinch", types=["episode"]))["results"]
    assert not hits or hits[0]["score"] < 0.3
    entity = await member.call("get_entity", entity_id=kept["id"])
    assert entity["metadata"]["retrieval_keys"] == ["INC-4711", "blorkenheim"]
    assert "blorkenheim" not in entity["content"] + entity["description"] + str(entity["tags"])
    await member.call("update_entity", entity_id=kept["id"], metadata={"retrieval_keys": ["quuxwell"]})
    await caught_up(member)
    assert (await found(member, "quuxwell", types=["episode"]))[:1] == [kept["id"]]
    hits = (await member.call("search", query="blorkenheim", types=["episode"]))["results"]
    assert not hits or hits[0]["score"] < 0.3


async def test_probes_are_rehearsed(member: Person) -> None:
    kept = await remember(
        member,
        spans=[{"start": 4, "end": 16}],
        probes=["When is the walrus cache flushed?", "Who won the chess tournament in Oslo?"],
    )
    good, bad = kept["probe_rehearsal"]
    assert (good["probe"], good["found"], good["rank"]) == ("When is the walrus cache flushed?", True, 1)
    assert not bad["found"], "alone in the memory it is the best hit of any question, but by chance"
    metadata = (await member.call("get_entity", entity_id=kept["id"]))["metadata"]
    assert metadata["spans"] == [{"start": 4, "end": 16}]
    assert len(metadata["probes"]) == 2
    assert (await remember(member))["probe_rehearsal"] == []


async def test_a_probe_is_not_answered_by_what_the_entity_is_linked_to(member: Person) -> None:
    other = await member.call("create_entity", name="Marlin billing", entity_type="note", sync=True)
    probes = ["Marlin billing", "What colour is the umbrella stand?"]
    kept = await remember(member, "The umbrella stand is red.", title="Stand", related_to=[other["id"]], probes=probes)
    linked, own = kept["probe_rehearsal"]
    assert own["found"]
    assert not linked["found"]


async def test_of_a_long_content_the_entity_holds_the_beginning(member: Person) -> None:
    text = "Nothing of note happened. " * 3000 + "Only the zanzibarquux valve was replaced."
    kept = await remember(member, text)
    entity = await member.call("get_entity", entity_id=kept["id"])
    end = entity["metadata"]["content_excerpt"]["end"]
    assert entity["content"] == text[:end]
    assert (entity["content"].endswith("happened."), 45_000 < end <= 50_000) == (True, True)
    read = await member.call("fetch_slice", entity_id=kept["id"], content_max_chars=60_000)
    assert (read["truncated"], read["excerpt_of"]) == (True, kept["raw_memory_id"])
    assert (await capture(member, kept["raw_memory_id"]))["raw_content"] == text
    assert kept["raw_memory_id"] in await found(member, "zanzibarquux valve")


async def test_many_at_once_keep_the_same_words_once(app: App, owner: Person) -> None:
    people = [await person(app, f"agent{number}", of=owner, role="member") for number in range(4)]
    answers = await asyncio.gather(*(remember(each, memory_scope="organization") for each in people))
    assert len({answer["id"] for answer in answers}) == 1
    assert sorted(answer["already_known"] for answer in answers) == [False, True, True, True]


async def test_its_metadata_widens_nothing(owner: Person, member: Person) -> None:
    boast = {"memory_scope": "organization", "scope_key": "x", "principal_id": owner.user_id, "raw_memory_id": "x"}
    kept = await remember(member, metadata=boast)
    assert kept["memory_scope"] == "private"
    await owner.refused("get_entity", NotFound, entity_id=kept["id"])
    assert (await capture(member, kept["raw_memory_id"]))["entity_id"] == kept["id"]
