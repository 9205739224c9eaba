"""`manage`: agents do with tasks and epics what programs do over REST, by the same functions and rules."""

from typing import Any

import pytest

from stores.errors import Conflict, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person
from tests.tools.work.test_epics import epic_of
from tests.tools.work.test_tasks import project_of, read, task_of
from tools.catalogue import by_name
from tools.frame.arguments import FOR_AGENTS
from tools.frame.operation import Operation
from tools.work.manage import ABSENT, ACTIONS, ManageRequest

pytestmark = pytest.mark.anyio

SAID: dict[str, dict[str, Any]] = {
    "block_task": {"reason": "no power"},
    "update_task": {"priority": "high", "sync": True},
    "submit_review": {"pr_url": "https://git.example/1"},
    "complete_task": {"learnings": "Check the valve.", "actual_hours": 2},
    "add_note": {"content": "Looks fine.", "author_type": "agent"},
    "update_epic": {"title": "Mars"},
    "complete_epic": {"learnings": "It is far."},
}
VOLATILE = {"timestamp", "branch_name", "episode_id", "id", "task_id", "mutation_receipt"}
DATES = ("started_at", "completed_at", "reviewed_at", "archived_at", "created_at")

COMPARED = ("name", "description", "tags", "revision")


def settled(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in VOLATILE.union(DATES)}


async def manage(person: Person, action: str, entity_id: str | None = None, **data: Any) -> dict[str, Any]:
    return dict(await person.call("manage", action=action, entity_id=entity_id, data=data or None))


@pytest.mark.parametrize(
    "action", [name for name in ACTIONS if name in by_name and name not in ("correct_memory", "refresh")]
)
async def test_an_action_does_what_its_operation_does(action: str, owner: Person) -> None:
    project = await project_of(owner)
    make = epic_of if action.endswith("epic") else task_of
    one, two = [await make(owner, project) for _ in range(2)]
    data = SAID.get(action, {})
    done = await manage(owner, action, one, **data)
    rest = await owner.call(action, **{ACTIONS[action].key: two}, **data)
    assert (done["success"], done["action"], done["entity_id"]) == (True, action, one)
    assert done["mutation_receipt"]["affected_records"]
    if action == "add_note":
        assert settled(done["data"]) == settled(rest)
        assert (await owner.call("list_notes", task_id=one))["notes"][0]["id"] == done["data"]["id"]
    else:
        assert done["message"] == rest["message"]
        assert settled(done["data"]) == settled(rest["data"])
    left = [await read(owner, each) for each in (one, two)]
    assert settled(left[0]["metadata"]) == settled(left[1]["metadata"])
    assert [left[0][key] for key in COMPARED] == [left[1][key] for key in COMPARED]


async def test_an_unknown_action_is_answered_with_those_that_there_are(owner: Person) -> None:
    for action in ("frobnicate", *ABSENT):
        done = await manage(owner, action, "whatever", x=1)
        assert (done["success"], done["action"], done["entity_id"]) == (False, action, "whatever")
        assert done["data"]["actions"] == list(ACTIONS)
        assert done["message"].endswith(f"Actions are {', '.join(ACTIONS)}.")
    assert "no action frobnicate" in (await manage(owner, "frobnicate"))["message"]


async def test_the_rules_hold_for_agents_too(owner: Person, member: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    refusals: tuple[tuple[Person, dict[str, Any], type[Exception], str], ...] = (
        (owner, {"action": "start_task"}, ValidationFailed, "entity_id is required for start_task"),
        (owner, {"action": "start_task", "entity_id": "t"}, NotFound, "no task t"),
        (owner, {"action": "start_epic", "entity_id": task}, NotFound, f"no epic {task}"),
        (owner, {"action": "block_task", "entity_id": task}, ValidationFailed, "data.reason is required"),
        (owner, {"action": "update_task", "entity_id": task, "data": {"titel": "x"}}, ValidationFailed, "mean name"),
        (owner, {"action": "update_task", "entity_id": task}, InvalidRequest, "Nothing to change"),
        (owner, {"action": "start_task", "entity_id": task, "data": {"task_id": "t"}}, ValidationFailed, "entity_id"),
        (owner, {"action": "start_task", "entity_id": task, "data": {"expected_revision": 5}}, Conflict, "not at 5"),
        (member, {"action": "start_task", "entity_id": task}, Forbidden, "project_contributor"),
    )
    for person, fields, error, words in refusals:
        await person.refused("manage", error, match=words, **fields)
    assert (await read(owner, task))["revision"] == 1
    wrong = {"action": "update_task", "entity_id": task, "data": {"status": "nearly"}}
    refused = await owner.refused("manage", ValidationFailed, **wrong)
    assert '{"data":{"status":"backlog"}}' in str(refused.remediation)


async def test_memories_are_corrected_and_reviewed(owner: Person, member: Person) -> None:
    kept = await owner.call("store_raw_memory", raw_content="Fact.", memory_scope="organization")
    await member.refused("manage", Forbidden, action="correct_memory", entity_id=kept["id"], data={"action": "wrong"})
    ask = {"action": "correct_memory", "entity_id": kept["id"]}
    done = await owner.call("manage", **ask, data={"action": "wrong", "reason": "old"})
    assert (done["success"], done["data"]["lifecycle"]["state"]) == (True, "contested")
    refused = await owner.call("manage", **ask, data={"action": "duplicate"})
    assert (refused["success"], refused["message"]) == (False, "missing_duplicate_source")
    assert [each["id"] for each in (await manage(owner, "review"))["data"]["items"]] == [kept["id"]]
    assert (await manage(owner, "edit", kept["id"], content="Another fact."))["success"] is True
    assert (await member.call("get_capture", capture_id=kept["id"]))["raw_content"] == "Another fact."


ADVICE = {"estimate", "prioritize", "suggest", "detect_cycles"}
REVIEW = {
    "review": "list_review", **dict.fromkeys(("approve", "reject", "edit"), "decide_review"),
    "crawl": "crawl_source", **dict.fromkeys(("sync", "refresh"), "sync_source"),
}  # fmt: skip


def test_every_action_is_an_operation_or_advice() -> None:
    assert {name for name, each in ACTIONS.items() if getattr(by_name.get(name), "run", None) is not each.run} == {
        *ADVICE, *REVIEW,
    }  # fmt: skip
    assert all(ACTIONS[name].run is by_name[REVIEW.get(name, name)].run for name in set(ACTIONS) - ADVICE)


def test_the_description_names_every_action_and_what_it_needs() -> None:
    fields = ManageRequest.model_fields
    assert all(action in str(fields["action"].description) for action in ACTIONS)
    for name, action in ACTIONS.items():
        fields_of_it = Operation(action.run).request.model_fields
        needs = {FOR_AGENTS.get(field, field) for field in fields_of_it} - {action.key, "sync", "verb"}
        assert all(need in str(fields["data"].description) for need in needs), name
