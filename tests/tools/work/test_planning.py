"""Advice on tasks: what comes first, what is free, what goes in circles, how long it takes."""

from typing import Any

import pytest

from stores.errors import NotFound
from tests.people import Person, caught_up
from tests.tools.work.test_epics import epic_of
from tests.tools.work.test_manage import manage
from tests.tools.work.test_tasks import project_of, task_of

pytestmark = pytest.mark.anyio


def names(advice: dict[str, Any]) -> list[str]:
    return [task["name"] for task in advice["data"]["tasks"]]


async def test_open_tasks_are_put_in_order(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    await task_of(owner, project, title="old")
    await task_of(owner, project, title="young")
    await task_of(owner, project, title="over", status="done", priority="critical")
    first = await task_of(owner, project, title="first")
    await task_of(owner, project, title="waiting", priority="critical", depends_on=[first])
    await task_of(owner, project, title="high", priority="high")
    stuck = await task_of(owner, project, title="stuck", priority="critical")
    await owner.call("block_task", task_id=stuck, reason="r")
    due = {"project_id": project, "due_date": "2030-01-01"}
    await owner.call("create_entity", name="due", entity_type="task", metadata=due)
    hidden = {"project_id": project, "memory_scope": "private", "depends_on": [first], "priority": "critical"}
    await owner.call("create_entity", name="mine", entity_type="task", metadata=hidden)
    advice = await manage(owner, "prioritize", project)
    assert names(advice) == ["high", "due", "first", "old", "young", "waiting", "stuck", "mine"]
    assert advice["message"] == "8 open tasks, 5 of them can go on"
    held = {task["name"]: (task["ready"], task["waits_for"], task["holds_up"]) for task in advice["data"]["tasks"]}
    assert held["first"] == (True, [], 2)
    assert held["waiting"] == (False, [first], 0)
    assert names(await manage(owner, "prioritize", project, limit=2)) == ["high", "due"]

    seen = await manage(member, "prioritize", project)
    assert names(seen) == ["high", "due", "first", "old", "young", "waiting", "stuck"]
    assert {task["name"]: task["holds_up"] for task in seen["data"]["tasks"]}["first"] == 1, "the hidden one"


async def test_what_waits_for_another_project_waits_as_far_as_one_may_see(owner: Person, member: Person) -> None:
    project, hidden = await project_of(owner), await project_of(owner, visibility="private")
    first = await task_of(owner, hidden)
    await task_of(owner, project, title="waits", depends_on=[first])
    assert names(await manage(owner, "suggest", project)) == []
    assert names(await manage(member, "suggest", project)) == ["waits"]
    await owner.call("complete_task", task_id=first)
    assert names(await manage(owner, "suggest", project)) == ["waits"]


async def test_only_what_can_be_taken_up_is_suggested(owner: Person) -> None:
    project = await project_of(owner)
    epic = await epic_of(owner, project)
    begun = await task_of(owner, project, title="begun", epic_id=epic)
    await owner.call("start_task", task_id=begun)
    await task_of(owner, project, title="Ada's", assignees=["Ada"], priority="high")
    await task_of(owner, project, title="Bob's", assignees=["Bob"], epic_id=epic)
    await task_of(owner, project, title="anyone's", status="backlog")
    assert names(await manage(owner, "suggest", project)) == ["Ada's", "Bob's", "anyone's"]
    assert names(await manage(owner, "suggest", project, assignee="Bob")) == ["Bob's", "anyone's"]
    assert names(await manage(owner, "suggest", project, assignee=" bOB ")) == ["Bob's", "anyone's"]
    assert names(await manage(owner, "suggest", epic)) == ["Bob's"]
    assert names(await manage(owner, "suggest", project, limit=1)) == ["Ada's"]
    for action, entity_id in (("suggest", begun), ("prioritize", "nothing"), ("detect_cycles", begun)):
        with pytest.raises(NotFound, match=f"no project or epic {entity_id}"):
            await manage(owner, action, entity_id)


async def test_a_task_is_estimated_by_done_tasks_like_it(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project, title="Rotate the database password of staging")
    for title, hours in (("Rotate the database password of production", 2), ("Rotate the database password", 4)):
        done = await task_of(owner, project, title=title)
        await owner.call("complete_task", task_id=done, actual_hours=hours)
    await task_of(owner, project, title="Rotate the database password of testing", status="done")
    private = {"status": "done", "actual_hours": 900, "memory_scope": "private", "project_id": project}
    same = "Rotate the database password of staging"
    await owner.call("create_entity", name=same, entity_type="task", metadata=private)
    await caught_up(owner)
    advice = await manage(member, "estimate", task)
    assert advice["success"]
    figures = {key: advice["data"][key] for key in ("estimated_hours", "least_hours", "most_hours")}
    assert figures == {"estimated_hours": 3, "least_hours": 2, "most_hours": 4}
    assert {each["actual_hours"] for each in advice["data"]["sample"]} == {2, 4}
    assert (await manage(owner, "estimate", task))["data"]["most_hours"] == 900


async def test_a_task_like_no_other_is_not_estimated(owner: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project, title="Paint the fence")
    await owner.call("complete_task", task_id=await task_of(owner, project, title="Parse UTF-16"), actual_hours=1)
    await caught_up(owner)
    advice = await manage(owner, "estimate", task)
    assert (advice["success"], advice["data"]) == (False, {"sample": []})
    with pytest.raises(NotFound, match=f"no task {project}"):
        await manage(owner, "estimate", project)


async def test_a_dependency_that_was_recorded_by_hand_counts_like_one_of_the_field(owner: Person) -> None:
    project = await project_of(owner)
    first, second = await task_of(owner, project, title="first"), await task_of(owner, project, title="second")
    fact = await owner.call("add_relation", source_id=first, name="DEPENDS_ON", target_id=second)
    tasks = (await manage(owner, "prioritize", project))["data"]["tasks"]
    assert [(task["name"], task["waits_for"]) for task in tasks] == [("second", []), ("first", [second])]
    advice = await manage(owner, "detect_cycles", project)
    assert (advice["message"], advice["data"]) == ("No circle of dependencies", {"cycles": []})
    await owner.call("end_relation", relation_id=fact["id"])
    assert names(await manage(owner, "prioritize", project)) == ["first", "second"]


async def test_what_blocks_a_task_or_is_required_by_it_comes_before_it_and_is_found_in_circles(owner: Person) -> None:
    project = await project_of(owner)
    first, second, third = [await task_of(owner, project, title=title) for title in ("1", "2", "3")]
    for source, name, target in ((second, "BLOCKS", first), (second, "REQUIRES", third)):
        await owner.call("add_relation", source_id=source, name=name, target_id=target)
    tasks = (await manage(owner, "prioritize", project))["data"]["tasks"]
    assert {task["name"]: task["waits_for"] for task in tasks} == {"1": [second], "2": [third], "3": []}
    assert names(await manage(owner, "suggest", project)) == ["3"]
    assert (await manage(owner, "detect_cycles", project))["data"] == {"cycles": []}
    await owner.call("add_relation", source_id=first, name="BLOCKS", target_id=third)
    (circle,) = (await manage(owner, "detect_cycles", project))["data"]["cycles"]
    assert circle in ([first, second, third, first], [second, third, first, second], [third, first, second, third])
    pair = [await task_of(owner, project, title=title) for title in ("4", "5")]
    for source, target in (pair, pair[::-1]):
        await owner.call("add_relation", source_id=source, name="BLOCKS", target_id=target)
    found = (await manage(owner, "detect_cycles", project))["data"]["cycles"]
    assert sorted(map(len, found)) == [3, 4], "each with its beginning twice"
