"""What the fields of tasks, and what belongs to them, state in the graph."""

from typing import Any

import pytest

from stores.errors import InvalidRequest, NotFound
from tests.people import Person, caught_up
from tests.tools.work.test_epics import epic_of
from tests.tools.work.test_tasks import project_of, read, task_of

pytestmark = pytest.mark.anyio


async def stated(person: Person, entity_id: str) -> set[tuple[str, str]]:
    found = await person.call("list_relations", entity_id=entity_id, direction="outgoing")
    return {(each["name"], each["target_id"]) for each in found["relations"]}


@pytest.mark.parametrize(
    ("field", "wrong"), [("epic_id", "task"), ("parent_task_id", "epic"), ("depends_on", "project")]
)
async def test_a_task_names_what_there_is_and_what_fits(field: str, wrong: str, owner: Person, member: Person) -> None:
    project = await project_of(owner)
    hidden = await member.call("create_entity", name="x", entity_type="epic", metadata={"memory_scope": "private"})
    others = {"task": await task_of(owner, project), "epic": await epic_of(owner, project), "project": project}
    task = await task_of(owner, project)

    def named(entity_id: str) -> dict[str, Any]:
        return {field: [entity_id] if field == "depends_on" else entity_id}

    for unknown in ("nothing", "raw_memory_1", hidden["id"]):
        with pytest.raises(NotFound, match=f"^{field} names {unknown}, which does not exist") as missed:
            await task_of(owner, project, **named(unknown))
        assert missed.value.details["field"] == f"body.{field}"
        assert "A raw memory has no relations" in str(missed.value.remediation)
    with pytest.raises(InvalidRequest, match=f"which is of type {wrong}"):
        await task_of(owner, project, **named(others[wrong]))
    change = {"add_depends_on": [others[wrong]]} if field == "depends_on" else named(others[wrong])
    with pytest.raises(InvalidRequest, match=f"which is of type {wrong}") as refused:
        await owner.call("update_task", task_id=task, **change)
    assert refused.value.details["field"] == f"body.{next(iter(change))}"
    assert (await read(owner, task))["revision"] == 1


async def test_notes_and_learnings_belong_where_their_task_belongs(owner: Person) -> None:
    project, other = await project_of(owner), await project_of(owner)
    task = await task_of(owner, project)
    note = (await owner.call("add_note", task_id=task, content="one"))["id"]
    done = await owner.call("complete_task", task_id=task, learnings="much")
    assert await stated(owner, note) == {("ABOUT", task), ("BELONGS_TO", project)}
    assert await stated(owner, done["data"]["episode_id"]) == {("DERIVED_FROM", task), ("BELONGS_TO", project)}
    await owner.call("update_entity", entity_id=task, metadata={"project_id": other})
    assert await stated(owner, note) == {("ABOUT", task), ("BELONGS_TO", other)}
    await caught_up(owner)


async def test_the_tasks_that_a_project_leaves_behind_are_worked_on(owner: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project)
    await owner.call("delete_entity", entity_id=project)
    note = (await owner.call("add_note", task_id=task, content="one"))["id"]
    done = await owner.call("complete_task", task_id=task, learnings="much")
    assert await stated(owner, note) == {("ABOUT", task)}
    assert (await read(owner, done["data"]["episode_id"]))["metadata"]["project_id"] == project
