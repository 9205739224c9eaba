"""Epics that somebody may not see: work on tasks tells them apart from what does not exist nowhere."""

import json
from typing import Any

import pytest

from auth.principal import narrowed_to
from stores.errors import EngrainError
from tests.people import Person
from tests.tools.records.test_containment import PRIVATE, made
from tests.tools.relations.test_relations import add
from tests.tools.work.test_tasks import give_role
from tools.catalogue import by_name
from tools.frame.execute import execute
from tools.frame.operation import Call
from tools.frame.parsing import parse
from tools.frame.threads import in_thread
from tools.records.containment import DEPENDENCIES_LIMIT

pytestmark = pytest.mark.anyio

MISSING = "epic_000000000000"


async def project_for(owner: Person, member: Person) -> str:
    project = await made(owner, "P", "project", visibility="org")
    await give_role(owner, project, member, "project_contributor")
    return project


async def epic_hidden_by(how: str, owner: Person) -> str:
    if how == "its scope":
        return await made(owner, "Secret", "epic", **PRIVATE)
    closed = await made(owner, "Closed", "project", visibility="private")
    scope = {"memory_scope": "organization"} if how == "its project alone" else {}
    return await made(owner, "Secret", "epic", project_id=closed, **scope)


async def answer(person: Person, operation: str, fields: dict[str, Any]) -> str:
    try:
        return json.dumps(await person.call(operation, **fields))
    except EngrainError as error:
        return json.dumps([error.code, error.message, error.remediation, error.details])


@pytest.mark.parametrize("how", ["its scope", "its project", "its project alone"])
async def test_naming_a_hidden_epic_is_answered_like_naming_none(owner: Person, member: Person, how: str) -> None:
    project, epic = await project_for(owner, member), await epic_hidden_by(how, owner)
    task = await made(owner, "T", project_id=project)
    new = {"title": "New", "project_id": project}
    for operation, fields, key in (
        ("create_task", new, "epic_id"), ("create_task", new, "parent_task_id"),
        ("update_task", {"task_id": task}, "epic_id"), ("update_task", {"task_id": task}, "parent_task_id"),
        ("start_task", {}, "task_id"), ("start_epic", {}, "epic_id"), ("manage", {"action": "suggest"}, "entity_id"),
    ):  # fmt: skip
        hidden, missing = [await answer(member, operation, {**fields, key: each}) for each in (epic, MISSING)]
        assert json.loads(missing)[0] == "not_found", (operation, key)
        assert hidden.replace(epic, MISSING) == missing, (operation, key)
    for key in ("depends_on", "add_depends_on"):
        operation, fields = ("create_task", new) if key == "depends_on" else ("update_task", {"task_id": task})
        hidden, missing = [await answer(member, operation, {**fields, key: [each]}) for each in (epic, MISSING)]
        assert json.loads(missing)[0] == "not_found"
        assert hidden.replace(epic, MISSING) == missing


@pytest.mark.parametrize("how", ["its scope", "its project"])
async def test_a_refusal_names_no_hidden_epic_that_the_task_has(owner: Person, member: Person, how: str) -> None:
    project, epic = await project_for(owner, member), await epic_hidden_by(how, owner)
    other, shown = await made(owner, "O", project_id=project), await made(owner, "E", "epic", project_id=project)
    task = await made(owner, "T", project_id=project, epic_id=epic, depends_on=[epic])
    await owner.call("update_entity", entity_id=epic, metadata={"depends_on": [other]})
    by_hand = await made(owner, "H", project_id=project)
    await add(owner, by_hand, "PART_OF", epic)
    ids = [f"{number}" for number in range(DEPENDENCIES_LIMIT)]
    for operation, fields in (
        ("update_task", {"task_id": task, "add_depends_on": ids}),
        ("update_task", {"task_id": other, "add_depends_on": [task]}),
        ("add_relation", {"source_id": other, "name": "DEPENDS_ON", "target_id": task}),
        ("add_relation", {"source_id": task, "name": "PART_OF", "target_id": shown}),
        ("add_relation", {"source_id": by_hand, "name": "PART_OF", "target_id": shown, "valid_at": "7d"}),
        ("update_task", {"task_id": task, "epic_id": shown, "status": "archived"}),
        ("start_task", {"task_id": task}),
    ):
        assert epic not in await answer(member, operation, fields), (operation, fields)


@pytest.mark.parametrize("key", ["epic_id", "parent_task_id"])
async def test_nobody_takes_a_task_out_of_what_they_are_not_shown(owner: Person, member: Person, key: str) -> None:
    project = await project_for(owner, member)
    hidden = await made(owner, "Secret", "epic" if key == "epic_id" else "task", **PRIVATE)
    task = await made(owner, "T", project_id=project, **{key: hidden})
    for operation, fields in (
        ("update_task", {"task_id": task, key: None}),
        ("update_entity", {"entity_id": task, "metadata": {key: None}}),
        ("manage", {"action": "update_task", "entity_id": task, "data": {key: None}}),
    ):
        assert hidden not in json.dumps(await member.call(operation, **fields))
        assert (await owner.call("get_entity", entity_id=task))["metadata"][key] == hidden
        held = await owner.call("list_relations", entity_id=task)
        assert hidden in {each["target_id"] for each in held["relations"]}
    await owner.call("update_task", task_id=task, **{key: None})
    assert (await owner.call("get_entity", entity_id=task))["metadata"][key] is None


async def test_what_an_epic_is_does_not_hang_on_how_little_a_key_sees(owner: Person) -> None:
    one, two = [await made(owner, "P", "project") for _ in range(2)]
    epic = await made(owner, "Mine", "epic", **PRIVATE)
    task = await made(owner, "T", project_id=one, epic_id=epic)
    await made(owner, "T", project_id=two, epic_id=epic, status="doing")
    key = narrowed_to(await in_thread(owner.app.accounts.authenticate, owner.token), [one])
    operation = by_name["complete_task"]
    request = parse(operation.request, {"task_id": task})
    done = (await execute(owner.app, operation, Call(key), request)).body()
    assert done["mutation_receipt"]["affected_records"] == [f"entity:{task}"]
    found = await owner.call("get_entity", entity_id=epic)
    assert found["metadata"]["status"] == "in_progress"
