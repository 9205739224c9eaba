"""What reflection says of notes, what it keeps of them, and what it does not tell whom."""

from typing import Any

import anyio
import pytest

from stores.errors import EngrainError, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, caught_up, lag

pytestmark = pytest.mark.anyio

NOTES = """\
Session on the billing worker.

We decided to use NATS for events.
- [ ] add an alert on restarts (Yuki)
Turns out the handler retries on 409 and books twice.
What if we warm the cache after each deploy?
"""


def found(pack: dict[str, Any], kind: str) -> dict[str, Any]:
    (candidate,) = [each for each in pack["candidates"] if each["kind"] == kind]
    return dict(candidate)


def findings(candidate: dict[str, Any]) -> dict[str, str | None]:
    return {each["kind"]: each["target_source_id"] for each in candidate["reflection_findings"]}


async def entity(person: Person, kind: str, content: str, **metadata: Any) -> str:
    made = await person.call("create_entity", name=content[:80], content=content, entity_type=kind, metadata=metadata)
    await caught_up(person)
    return str(made["id"])


async def count(person: Person) -> int:
    entities = await person.call("list_entities", page_size=1)
    captures = await person.call("list_captures", limit=1)
    return int(entities["total"]) + int(captures["total"])


async def test_every_candidate_quotes_the_notes_and_says_everything_of_itself(owner: Person) -> None:
    pack = await owner.call("reflect", content=NOTES, intent="debug", domain="billing")
    assert [each["kind"] for each in pack["candidates"]] == ["decision", "task", "claim", "idea"]
    assert pack["total_candidates"] == 4
    assert pack["persisted_count"] == 0
    assert (pack["intent"], pack["domain"], pack["project"]) == ("debug", "billing", None)
    for candidate in pack["candidates"]:
        span = candidate["metadata"]["span"]
        assert NOTES[span["start"] : span["end"]] == candidate["content"]
        assert candidate["tags"][:2] == ["reflection", candidate["kind"]]
        assert 0 < candidate["confidence"] <= 1
        assert candidate["raw_source_ids"] == [pack["source_id"]]
        assert (candidate["suggested_memory_scope"], candidate["suggested_scope_key"]) == ("private", None)
        assert (candidate["review_state"], candidate["persisted_id"]) == ("pending", None)
        assert candidate["title"] in pack["markdown"]
    (claim,) = found(pack, "decision")["claim_records"]
    assert (claim["validity"], claim["freshness"]) == ("active", "current")
    assert found(pack, "idea")["claim_records"] == []


async def test_notes_say_something_and_are_as_long_as_a_raw_memory_at_most(owner: Person) -> None:
    for content in ("", " \n\t ", "x" * 500_001):
        refused = await owner.refused("reflect", ValidationFailed, content=content)
        assert refused.details["field"] == "body.content"
    pack = await owner.call("reflect", content="x" * 500_000, persist_source=False)
    assert pack["candidates"] == []


async def test_the_notes_are_kept_once_and_to_the_letter(owner: Person) -> None:
    first, second = [await owner.call("reflect", content=NOTES, source_title="Stand-up") for _ in range(2)]
    assert first["source_id"] == second["source_id"]
    (capture,) = (await owner.call("list_captures"))["captures"]
    assert (capture["raw_content"], capture["title"]) == (NOTES, "Stand-up")
    assert (capture["memory_scope"], capture["review_state"]) == ("private", "pending")


async def test_nothing_is_kept_that_nobody_asked_for(owner: Person) -> None:
    before = await count(owner)
    pack = await owner.call("reflect", content=NOTES, persist_source=False)
    assert pack["source_id"] is None
    assert pack["mutation_receipt"] is None
    assert await count(owner) == before


async def test_what_is_kept_is_an_entity_of_the_candidates_kind(owner: Person) -> None:
    pack = await owner.call("reflect", content=NOTES, persist=True)
    assert pack["persisted_count"] == 4
    for candidate in pack["candidates"]:
        kept = await owner.call("get_entity", entity_id=candidate["persisted_id"])
        assert (kept["entity_type"], kept["name"], kept["content"]) == (
            candidate["kind"], candidate["title"], candidate["content"],
        )  # fmt: skip
        assert kept["metadata"]["memory_scope"] == "private"
        assert kept["metadata"]["raw_source_ids"] == [pack["source_id"]]
        assert kept["metadata"]["span"] == candidate["metadata"]["span"]
    (capture,) = (await owner.call("list_captures"))["captures"]
    assert capture["review_state"] == "promoted"
    assert capture["entity_id"] == pack["candidates"][0]["persisted_id"]


async def test_what_is_known_is_said_and_not_written_again(owner: Person) -> None:
    first = await owner.call("reflect", content=NOTES, persist=True)
    await caught_up(owner)
    before = await count(owner)
    second = await owner.call("reflect", content=NOTES, persist=True)
    assert second["persisted_count"] == 0
    assert await count(owner) == before
    for kind in ("decision", "task", "claim", "idea"):
        assert findings(found(second, kind)) == {"duplicate": found(first, kind)["persisted_id"]}
        assert found(second, kind)["persisted_id"] is None


async def test_what_was_kept_a_moment_ago_is_known(owner: Person) -> None:
    lag(owner)
    first = await owner.call("reflect", content="We decided to use NATS for all events.", persist=True)
    second = await owner.call("reflect", content="Today. We decided to use NATS, for all events!", persist=True)
    assert (first["persisted_count"], second["persisted_count"]) == (1, 0)
    assert findings(found(second, "decision")) == {"duplicate": found(first, "decision")["persisted_id"]}
    other = await owner.call("reflect", content="We decided not to use NATS for all events.", persist=True)
    assert findings(found(other, "decision")) == {"contradiction": found(first, "decision")["persisted_id"]}


async def test_what_names_somebody_else_is_not_the_same(owner: Person) -> None:
    await entity(owner, "decision", "We decided to grant Omar write access to the billing vault.")
    await caught_up(owner)
    notes = (
        "We decided to grant Rita write access to the billing vault.\n\n"
        "We decided to grant Zoe write access to the billing vault.\n\n"
        "We decided to grant Zoe write access to the billing vault."
    )
    pack = await owner.call("reflect", content=notes, persist=True)
    assert pack["persisted_count"] == 2
    assert all(
        finding["action"] == "keep_both"
        for candidate in pack["candidates"]
        for finding in candidate["reflection_findings"]
        if finding["kind"] == "duplicate"
    )


@pytest.mark.parametrize(
    ("entity_type", "text"),
    [("idea", "Use Redis for sessions."), ("note", "Idea: use Redis for sessions."),
     ("note", "Rejected: use Redis for sessions.")],
)  # fmt: skip
async def test_a_decision_is_kept_beside_the_same_idea_or_rejection(owner: Person, entity_type: str, text: str) -> None:
    await entity(owner, entity_type, text)
    await caught_up(owner)
    pack = await owner.call("reflect", content="Decision: use Redis for sessions.", persist=True)
    assert pack["persisted_count"] == 1
    again = await owner.call("reflect", content="We decided to use Redis for sessions.", persist=True)
    assert again["persisted_count"] == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [("Decision: we use Redis for the session cache.", "Rejected: we use Redis for the session cache."),
     ("# Rejected\n- use Redis for the session cache", "Decision: use Redis for the session cache."),
     ("We decided to use Redis for the session cache.", "# Out of scope\n- use Redis for the session cache")],
)  # fmt: skip
async def test_a_decision_and_its_rejection_contradict_each_other(owner: Person, first: str, second: str) -> None:
    kept = await owner.call("reflect", content=first, persist=True)
    other = await owner.call("reflect", content=second, persist=True)
    assert findings(found(other, "decision")) == {"contradiction": found(kept, "decision")["persisted_id"]}
    assert other["persisted_count"] == 1
    again = await owner.call("reflect", content=second, persist=True)
    assert again["persisted_count"] == 0


async def test_agents_that_reflect_on_the_same_notes_at_once_keep_them_once(owner: Person) -> None:
    packs: list[dict[str, Any]] = []

    async def one() -> None:
        packs.append(await owner.call("reflect", content=NOTES, persist=True))

    async with anyio.create_task_group() as agents:
        for _ in range(4):
            agents.start_soon(one)
    assert sum(pack["persisted_count"] for pack in packs) == 4
    assert (await owner.call("list_entities"))["total"] == 4
    assert (await owner.call("list_captures"))["total"] == 1


async def test_the_notes_own_source_is_nothing_known(owner: Person) -> None:
    await owner.call("reflect", content=NOTES)
    await owner.call("create_entity", name="Log", content=NOTES * 3, entity_type="session")
    await caught_up(owner)
    pack = await owner.call("reflect", content=NOTES)
    assert [findings(each) for each in pack["candidates"]] == [{}] * 4


async def test_a_contradiction_is_flagged_and_linked(owner: Person) -> None:
    old = await entity(owner, "decision", "We use Kafka for events.")
    pack = await owner.call("reflect", content="We decided to use NATS for events.", persist=True)
    (candidate,) = pack["candidates"]
    assert findings(candidate) == {"contradiction": old}
    (claim,) = candidate["claim_records"]
    assert (claim["validity"], claim["contradicts_source_ids"]) == ("contested", [old])
    related = await owner.call("list_relations", entity_id=candidate["persisted_id"])
    (relation,) = related["relations"]
    assert (relation["name"], relation["target_id"]) == ("CONTRADICTS", old)
    assert relation["provenance"]["from"] == "reflect"


async def test_what_takes_anothers_place_is_a_supersession(owner: Person) -> None:
    old = await entity(owner, "decision", "We use PostgreSQL 15.")
    pack = await owner.call("reflect", content="Decision: we upgraded to PostgreSQL 16.")
    (candidate,) = pack["candidates"]
    assert findings(candidate) == {"supersession": old}
    assert candidate["claim_records"][0]["supersedes_source_ids"] == [old]


async def test_what_was_retired_is_stale(owner: Person) -> None:
    old = await entity(owner, "decision", "We use Kafka for events.")
    new = await owner.call("create_entity", name="NATS", content="We use NATS for events.", entity_type="decision",
                           related_to=[f"supersedes:{old}"])  # fmt: skip
    await caught_up(owner)
    pack = await owner.call("reflect", content="We decided to use Kafka for events.")
    (candidate,) = pack["candidates"]
    assert findings(candidate) == {"stale": old}
    assert candidate["reflection_findings"][0]["related_source_ids"] == [new["id"]]
    assert candidate["claim_records"][0]["superseded_by_source_id"] == new["id"]


async def test_a_task_that_is_done_is_stale_and_one_that_is_open_is_a_duplicate(owner: Person) -> None:
    done = await entity(owner, "task", "Add an alert on restarts", status="done")
    content = "- [ ] add an alert on restarts"
    assert findings((await owner.call("reflect", content=content))["candidates"][0]) == {"stale": done}
    await owner.call("update_entity", entity_id=done, metadata={"status": "todo"})
    await caught_up(owner)
    assert findings((await owner.call("reflect", content=content))["candidates"][0]) == {"duplicate": done}


@pytest.mark.parametrize("known", [False, True])
async def test_everything_that_is_kept_or_known_is_linked_to_what_was_named(owner: Person, known: bool) -> None:
    note = await entity(owner, "note", "Something else")
    task = await entity(owner, "task", "Move the workers")
    links = {"related_to": [f"about:{note}"], "task_ids": [task], "active_task": False}
    pack = await owner.call("reflect", content=NOTES, persist=True, **({} if known else links))
    ids = [candidate["persisted_id"] for candidate in pack["candidates"]]
    if known:
        await caught_up(owner)
        pack = await owner.call("reflect", content=NOTES, persist=True, **links)
        assert pack["persisted_count"] == 0
    for candidate, entity_id in zip(pack["candidates"], ids, strict=True):
        listed = (await owner.call("list_relations", entity_id=entity_id))["relations"]
        said = {(each["name"], each["target_id"], each["provenance"]["from"]) for each in listed}
        assert said == {("ABOUT", note, "related_to"), ("RELATED_TO", task, "task_ids")}
        records = {(each["relationship_type"], each["target_id"]) for each in candidate["relationship_records"]}
        assert records == {("ABOUT", note), ("RELATED_TO", task)}


async def test_a_task_that_is_none_is_refused_and_nothing_is_kept(owner: Person) -> None:
    note = await entity(owner, "note", "Something else")
    before = await count(owner)
    await owner.refused("reflect", InvalidRequest, match="task_ids", content=NOTES, persist=True, task_ids=[note])
    with pytest.raises(NotFound, match="related_to"):
        await owner.call("reflect", content=NOTES, persist=True, related_to=["note_000000000000"])
    assert await count(owner) == before


async def test_the_active_task_is_the_one_that_the_caller_started_last(owner: Person, member: Person) -> None:
    project = await entity(owner, "project", "Billing")
    tasks = []
    for person, title in ((owner, "One"), (owner, "Two"), (member, "Three")):
        made = await owner.call("create_task", title=title, project_id=project)
        await owner.call("start_task", task_id=made["task_id"], assignee=person.email)
        tasks.append(made["task_id"])
    pack = await owner.call("reflect", content=NOTES, project=project)
    linked = {each["target_id"] for found in pack["candidates"] for each in found["relationship_records"]}
    assert linked == {tasks[1]}
    off = await owner.call("reflect", content=NOTES, project=project, active_task=False)
    assert not any(found["relationship_records"] for found in off["candidates"])


async def test_what_belongs_to_a_project_is_read_by_its_own_people(owner: Person, member: Person) -> None:
    project = await entity(owner, "project", "Billing")
    pack = await owner.call("reflect", content=NOTES, project=project, persist=True)
    kept = found(pack, "decision")["persisted_id"]
    assert (await owner.call("get_entity", entity_id=kept))["metadata"]["memory_scope"] == "project"
    await member.refused("get_entity", NotFound, entity_id=kept)
    await member.refused("reflect", Forbidden, match="no verified member", content=NOTES, project=project)
    looked = await member.call("reflect", content=NOTES, project=project, persist_source=False)
    assert [findings(each) for each in looked["candidates"]] == [{}] * 4
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_contributor")
    assert (await member.call("get_entity", entity_id=kept))["id"] == kept


async def test_candidates_wait_in_the_queue_once_each(owner: Person) -> None:
    first, second = [await owner.call("reflect", content=NOTES, persist_review=True, domain="x") for _ in range(2)]
    assert (first["persisted_count"], second["persisted_count"]) == (4, 0)
    listed = await owner.call("list_captures", entity_type="reflection_candidate")
    assert listed["total"] == 4
    waiting = {capture["id"]: capture for capture in listed["captures"]}
    for before, after in zip(first["candidates"], second["candidates"], strict=True):
        assert before["persisted_id"] == after["persisted_id"]
        capture = waiting[before["persisted_id"]]
        stored = capture["candidate"]
        assert stored | {"persisted_id": None} == {**before, "persisted_id": None} | {
            key: stored[key]
            for key in ("domain", "project", "related_to", "task_ids", "source_ids", "source_title", "intent")
        }
        assert (stored["domain"], stored["source_ids"]) == ("x", [first["source_id"]])
        assert (capture["review_state"], capture["source_id"]) == ("pending", first["source_id"])
    assert (await owner.call("list_entities"))["total"] == 0


async def test_candidates_without_kept_notes_wait_once_too(owner: Person) -> None:
    fields = {"content": NOTES, "persist_review": True, "persist_source": False}
    first, second = [await owner.call("reflect", **fields) for _ in range(2)]
    assert (first["persisted_count"], second["persisted_count"]) == (4, 0)
    waiting = [each["persisted_id"] for each in first["candidates"]]
    assert [each["persisted_id"] for each in second["candidates"]] == waiting
    assert (await owner.call("list_captures", entity_type="reflection_candidate"))["total"] == 4
    await owner.call("review_capture", capture_id=waiting[0], review_state="archived")
    assert (await owner.call("reflect", **fields))["persisted_count"] == 1
    with_source = await owner.call("reflect", **fields | {"persist_source": True})
    assert with_source["persisted_count"] == 4, "these have a source"


async def test_notes_that_are_not_kept_open_their_records_to_nobody_else(owner: Person, member: Person) -> None:
    project = await entity(owner, "project", "Billing")
    pack = await owner.call("reflect", content=NOTES, project=project, persist=True, persist_source=False)
    kept = [each["persisted_id"] for each in pack["candidates"]]
    assert pack["source_id"] is None
    for each in kept:
        await member.refused("get_entity", NotFound, entity_id=each)
    await owner.call("add_project_member", project_id=project, user_id=member.user_id, role="project_viewer")
    assert [(await member.call("get_entity", entity_id=each))["id"] for each in kept] == kept


async def test_what_is_sensitive_is_not_spread(owner: Person) -> None:
    project = await entity(owner, "project", "Billing")
    notes = "We decided to use the password: hunter2-xyz for staging."
    pack = await owner.call("reflect", content=notes, project=project, persist=True)
    (candidate,) = pack["candidates"]
    assert candidate["sensitivity_flags"] == ["credential"]
    assert findings(candidate) == {"exception": None}
    assert (candidate["persisted_id"], pack["persisted_count"]) == (None, 0)
    alone = await owner.call("reflect", content=notes, persist=True)
    assert alone["persisted_count"] == 1


async def test_an_answer_is_not_repeated_once_what_it_quotes_is_gone(owner: Person) -> None:
    old = await entity(owner, "decision", "We use Kafka for events.")
    fields = {"content": "We decided to use NATS for events.", "persist_source": False}
    await owner.run("reflect", idempotency_key="one", **fields)
    await owner.call("delete_entity", entity_id=old)
    refused = await owner.refused("reflect", EngrainError, idempotency_key="one", **fields)
    assert "Kafka" not in refused.message


async def test_a_colleagues_private_record_is_neither_known_nor_contradicted(owner: Person, member: Person) -> None:
    await entity(owner, "decision", "We use Kafka for events.", memory_scope="private")
    await entity(owner, "idea", "What if we warm the cache after each deploy?", memory_scope="private")
    pack = await member.call("reflect", content=NOTES, persist=True)
    assert [findings(each) for each in pack["candidates"]] == [{}] * 4
    assert pack["persisted_count"] == 4


async def test_ones_own_private_record_hides_nothing_from_a_project(owner: Person) -> None:
    project = await entity(owner, "project", "Billing")
    own = await entity(owner, "idea", "What if we warm the cache after each deploy?", memory_scope="private")
    other = await entity(owner, "decision", "We use Kafka for events.", memory_scope="private")
    fields = {"content": NOTES, "project": project}
    kept = await owner.call("reflect", **fields, persist=True)
    assert kept["persisted_count"] == 4
    assert findings(found(kept, "idea")) == {"duplicate": own}
    queued = await owner.call("reflect", **fields, persist_review=True, related_to=[own])
    assert other in str(queued)
    listed = await owner.call("list_captures", entity_type="reflection_candidate")
    for capture in listed["captures"]:
        assert own not in str(capture["candidate"])
        assert "Kafka" not in str(capture["candidate"])


async def test_what_holds_in_another_project_says_nothing(owner: Person) -> None:
    one, other = [await entity(owner, "project", name) for name in ("Billing", "Search")]
    await entity(owner, "decision", "We use Kafka for events.", project_id=other)
    here = await entity(owner, "decision", "We use RabbitMQ for events.", project_id=one)
    pack = await owner.call("reflect", content="We decided to use NATS for events.", project=one)
    assert findings(pack["candidates"][0]) == {"contradiction": here}


@pytest.mark.parametrize("form", [list, ", ".join], ids=["list", "text"])
async def test_citations_come_as_a_list_or_as_a_text_and_count(owner: Person, form: Any) -> None:
    helped = await entity(owner, "note", "Something that helped")
    pack = await owner.call("reflect", content=NOTES, cited_ids=form([helped, "note_000000000000"]))
    usage = pack["citation_usage"]
    assert (usage["counted_ids"], usage["unknown_ids"]) == ([helped], ["note_000000000000"])
    assert usage["source_surface"] == "reflect"
    assert (await owner.call("reflect", content=NOTES))["citation_usage"] == {}


async def test_a_candidate_in_the_queue_says_nothing_of_what_its_reader_may_not_read_any_more(owner: Person) -> None:
    known = await entity(owner, "decision", "We use Ibexmq for telemetry.")
    notes = "We decided to use Gnubus for telemetry."
    await owner.call("reflect", content=notes, persist_review=True)

    async def said() -> str:
        listed = await owner.call("list_captures", entity_type="reflection_candidate")
        (capture,) = listed["captures"]
        read = await owner.call("get_capture", capture_id=capture["id"])
        assert read["candidate"] == capture["candidate"]
        return str(read["candidate"])

    before = await said()
    assert "Ibexmq" in before
    assert known in before
    await owner.run("delete_entity", entity_id=known)
    after = await said()
    assert "Ibexmq" not in after
    assert known not in after
    assert "Gnubus" in after
