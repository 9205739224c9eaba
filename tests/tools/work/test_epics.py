"""Epics: their deeds, how they follow their tasks, and what they do not tell of tasks that are hidden."""

from typing import Any

import anyio
import pytest

from stores.errors import Conflict, Forbidden, InvalidRequest, NotFound
from tests.people import Person
from tests.tools.work.test_tasks import give_role, project_of, read, task_of
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio


async def epic_of(person: Person, project: str | None = None, **metadata: Any) -> str:
    place = {} if project is None else {"project_id": project}
    made = await person.call("create_entity", name="Moon", entity_type="epic", metadata={**place, **metadata})
    return str(made["id"])


async def status_of(person: Person, entity_id: str) -> Any:
    return (await read(person, entity_id))["metadata"]["status"]


async def test_an_epic_follows_its_tasks(owner: Person) -> None:
    project = await project_of(owner)
    epic = await epic_of(owner, project)
    first, second = [await task_of(owner, project, epic_id=epic) for _ in range(2)]
    assert await status_of(owner, epic) == "planning"
    begun = await owner.call("start_task", task_id=first)
    assert begun["mutation_receipt"]["affected_records"] == [f"entity:{first}", f"entity:{epic}"]
    assert begun["mutation_receipt"]["revision"] == begun["data"]["revision"] == 2
    found = await read(owner, epic)
    assert (found["metadata"]["status"], found["metadata"]["started_at"]) == (
        "in_progress",
        found["updated_at"].replace("Z", "+00:00"),
    )
    await owner.call("block_task", task_id=first, reason="r")
    assert await status_of(owner, epic) == "blocked"
    for status, expected in (("doing", "in_progress"), ("review", "in_progress"), ("backlog", "blocked")):
        await owner.call("update_task", task_id=second, status=status)
        assert await status_of(owner, epic) == expected, f"one is blocked, the other {status}"
    await owner.call("update_entity", entity_id=first, metadata={"status": "todo"})
    assert await status_of(owner, epic) == "in_progress", "what was started is not planned any more"
    await owner.call("complete_task", task_id=first)
    assert await status_of(owner, epic) == "in_progress"
    await owner.call("update_task", task_id=second, status="done")
    assert await status_of(owner, epic) == "completed"
    third = await task_of(owner, project, epic_id=epic)
    found = await read(owner, epic)
    assert (found["metadata"]["status"], found["metadata"]["completed_at"]) == ("in_progress", None)
    await owner.call("delete_entity", entity_id=third)
    assert await status_of(owner, epic) == "completed"
    other = await epic_of(owner, project)
    carried = await task_of(owner, project, epic_id=epic, status="doing")
    for goal, expected in ((other, ["completed", "in_progress"]), (None, ["completed", "in_progress"])):
        await owner.call("update_task", task_id=carried, epic_id=goal)
        assert [await status_of(owner, each) for each in (epic, other)] == expected
    await owner.call("update_task", task_id=carried, epic_id=other, status="done")
    assert await status_of(owner, other) == "completed"
    await owner.call("archive_task", task_id=first)
    assert await status_of(owner, epic) == "completed", "one of its tasks is done"


async def test_what_somebody_says_of_an_epic_holds_until_a_task_moves(owner: Person) -> None:
    project = await project_of(owner)
    epic = await epic_of(owner, project)
    task = await task_of(owner, project, epic_id=epic)
    await owner.call("update_epic", epic_id=epic, status="blocked")
    await owner.call("update_task", task_id=task, title="Renamed", priority="high")
    assert await status_of(owner, epic) == "blocked"
    await owner.call("start_task", task_id=task)
    assert await status_of(owner, epic) == "in_progress"


async def test_an_epic_is_archived_with_its_last_task_by_who_may_archive_it(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    await give_role(owner, project, member, "project_contributor")
    epic = await epic_of(owner, project)
    first, second = [await task_of(owner, project, epic_id=epic) for _ in range(2)]
    for task in (first, second):
        await member.call("archive_task", task_id=task)
    assert await status_of(owner, epic) == "planning", "a contributor may not archive it"
    third = await task_of(owner, project, epic_id=epic)
    await owner.call("archive_task", task_id=third)
    assert await status_of(owner, epic) == "archived"
    await task_of(owner, project, epic_id=epic, status="doing")
    assert await status_of(owner, epic) == "in_progress", "nobody archived it"
    await owner.call("archive_epic", epic_id=epic)
    await task_of(owner, project, epic_id=epic, status="doing")
    assert await status_of(owner, epic) == "archived"


async def test_a_hidden_task_shows_in_no_epic(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    await give_role(owner, project, member, "project_contributor")
    epic = await epic_of(owner, project)
    task = await task_of(owner, project, epic_id=epic)
    private = {"project_id": project, "memory_scope": "private", "epic_id": epic}
    hidden = await member.call("create_entity", name="x", entity_type="task", metadata={**private, "status": "doing"})
    assert await status_of(owner, epic) == "planning"
    await owner.call("complete_task", task_id=task)
    assert await status_of(owner, epic) == "completed"
    await member.call("update_entity", entity_id=hidden["id"], metadata={"memory_scope": "project"})
    assert await status_of(owner, epic) == "in_progress"


async def test_an_epic_out_of_sight_follows_and_nobody_is_told(owner: Person, member: Person) -> None:
    project, elsewhere = await project_of(owner), await project_of(owner, visibility="private")
    await give_role(owner, project, member, "project_contributor")
    epic = await epic_of(owner, project, memory_scope="private")
    loose = await epic_of(owner, memory_scope="private")
    task, other = await task_of(owner, project, epic_id=epic), await task_of(owner, project, epic_id=loose)
    beside = await task_of(owner, elsewhere, epic_id=epic)
    app = owner.app
    async with app.events.subscribe(await in_thread(app.accounts.authenticate, member.token)) as events:
        for hidden, moved in ((epic, task), (loose, other)):
            begun = await member.call("start_task", task_id=moved)
            assert begun["mutation_receipt"]["affected_records"] == [f"entity:{moved}"]
            assert await status_of(owner, hidden) == "in_progress"
            changed = await member.call("update_entity", entity_id=moved, metadata={"status": "blocked"})
            assert changed["mutation_receipt"]["affected_records"] == [f"entity:{moved}"]
            assert await status_of(owner, hidden) == "blocked"
            done = await member.call("complete_task", task_id=moved)
            assert done["mutation_receipt"]["affected_records"] == [f"entity:{moved}"]
            await member.refused("get_entity", NotFound, entity_id=hidden)
        last = (await member.call("create_entity", name="last", sync=True))["id"]
        told: list[Any] = []
        with anyio.fail_after(20):
            while last not in told:
                told.append((await anext(aiter(events))).data["id"])
    assert {task, other} <= set(told)
    assert {epic, loose}.isdisjoint(told)
    assert await status_of(owner, loose) == "completed"
    assert await status_of(owner, epic) == "in_progress", "its author sees another task of it"
    done = await owner.call("complete_task", task_id=beside)
    assert done["mutation_receipt"]["affected_records"] == [f"entity:{beside}", f"entity:{epic}"]


async def test_an_epic_is_not_moved_by_those_who_may_not_work_in_its_project(owner: Person, member: Person) -> None:
    project, closed = await project_of(owner), await project_of(owner, visibility="private")
    await give_role(owner, project, member, "project_contributor")
    epic = await epic_of(owner, closed)
    shown = {"project_id": project, "memory_scope": "organization", "epic_id": epic}
    task = await owner.call("create_entity", name="T", entity_type="task", metadata=shown)
    await member.call("start_task", task_id=task["id"])
    assert (await read(owner, epic))["revision"] == 1


async def test_the_deeds_of_an_epic(owner: Person) -> None:
    epic = await epic_of(owner, await project_of(owner))
    changed = await owner.call(
        "update_epic", epic_id=epic, title="Mars", description="d", priority="high", assignees=["Ada"], tags=["x"]
    )
    assert {key: changed[key] for key in ("success", "action", "epic_id", "message", "data")} == {
        "success": True, "action": "update_epic", "epic_id": epic, "message": "Epic updated",
        "data": {"status": "planning", "revision": 2},
    }  # fmt: skip
    begun = await owner.call("start_epic", epic_id=epic, expected_revision=2)
    assert begun["data"]["status"] == "in_progress"
    done = await owner.call("complete_epic", epic_id=epic, learnings="It is far.")
    assert (done["data"]["status"], done["data"]["learnings"]) == ("completed", "It is far.")
    assert (await read(owner, done["data"]["episode_id"]))["name"] == "Learnings: Mars"
    away = await owner.call("archive_epic", epic_id=epic, reason="over")
    assert away["data"] == {"status": "archived", "revision": 5, "reason": "over"}
    found = await read(owner, epic)
    assert (found["name"], found["description"], found["tags"]) == ("Mars", "d", ["x"])
    assert found["metadata"]["started_at"] < found["metadata"]["completed_at"] < found["metadata"]["archived_at"]
    for deed, fields in (("start_epic", {}), ("complete_epic", {}), ("update_epic", {"status": "planning"})):
        await owner.refused(deed, InvalidRequest, match="Invalid transition: archived ->", epic_id=epic, **fields)
    await owner.refused("update_epic", InvalidRequest, match="Nothing to change", epic_id=epic)
    await owner.refused("archive_epic", Conflict, epic_id=epic, expected_revision=1)


ENDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("complete_epic", "epic_id", {}),
    ("archive_epic", "epic_id", {}),
    ("update_epic", "epic_id", {"status": "completed"}),
    ("update_entity", "entity_id", {"metadata": {"status": "completed"}}),
    ("update_entity", "entity_id", {"metadata": {"status": "archived"}}),
)


@pytest.mark.parametrize(("deed", "key", "fields"), ENDS)
async def test_maintainers_end_epics(
    deed: str, key: str, fields: dict[str, Any], owner: Person, member: Person
) -> None:
    project = await project_of(owner)
    await give_role(owner, project, member, "project_contributor")
    epic = await epic_of(owner, project)
    await member.call("start_epic", epic_id=epic)
    with pytest.raises(Forbidden, match="that needs the role project_maintainer in its project"):
        await member.call(deed, **{key: epic}, **fields)
    loose = await epic_of(owner)
    await member.refused(deed, Forbidden, match="that needs its author", **{key: loose}, **fields)
    role = {"user_id": member.user_id, "role": "project_maintainer"}
    await owner.call("change_project_member", project_id=project, **role)
    assert await member.call(deed, **{key: epic}, **fields)
    assert await status_of(owner, epic) in ("completed", "archived")


@pytest.mark.parametrize("wish", [{"archived_at": None}, {"archived_at": "", "status": "archived"}])
async def test_archived_stays_when_its_date_is_cleared(wish: dict[str, Any], owner: Person, member: Person) -> None:
    project = await project_of(owner)
    await give_role(owner, project, member, "project_contributor")
    epic = await epic_of(owner, project)
    task = await task_of(owner, project, epic_id=epic)
    await owner.call("update_entity", entity_id=epic, metadata={"status": "archived", "archived_at": None})
    stamped = (await read(owner, epic))["metadata"]["archived_at"]
    assert stamped
    for person in (member, owner):
        await person.call("update_entity", entity_id=epic, metadata=wish)
        assert (await read(owner, epic))["metadata"]["archived_at"] == stamped
    await member.call("start_task", task_id=task)
    await member.call("block_task", task_id=task, reason="r")
    assert await status_of(owner, epic) == "archived"


async def test_only_maintainers_make_it_final_that_an_epic_went_with_its_tasks(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    await give_role(owner, project, member, "project_contributor")
    epic = await epic_of(owner, project, archived_at="2020-01-01")
    await task_of(owner, project, epic_id=epic, status="archived")
    assert await status_of(owner, epic) == "archived"
    await member.call("update_entity", entity_id=epic, metadata={"archived_at": "2020-01-01"})
    with pytest.raises(Forbidden, match="that needs the role project_maintainer"):
        await member.call("update_entity", entity_id=epic, metadata={"status": "archived"})
    task = await task_of(member, project, epic_id=epic, status="doing")
    assert await status_of(owner, epic) == "in_progress", "nobody archived it"
    await owner.call("archive_task", task_id=task)
    await owner.call("archive_epic", epic_id=epic)
    await task_of(member, project, epic_id=epic, status="doing")
    assert await status_of(owner, epic) == "archived"


@pytest.mark.parametrize("status", ["completed", "archived"])
async def test_an_epic_comes_ended_from_maintainers_alone(status: str, owner: Person, member: Person) -> None:
    project = await project_of(owner)
    await give_role(owner, project, member, "project_contributor")
    ended = {"project_id": project, "status": status}
    draft = {"name": "Moon", "entity_type": "epic", "metadata": ended}
    refused = f"{status} needs the role project_maintainer in project {project}"
    for operation, fields in (
        ("create_entity", draft),
        ("create_entity", {**draft, "metadata": {**ended, "memory_scope": "private"}}),
        ("bulk_create_entities", {"entities": [draft]}),
        ("add", {"title": "Moon", "content": "c", "entity_type": "epic", "metadata": ended}),
    ):
        await member.refused(operation, Forbidden, match=refused, **fields)
    loose = await epic_of(member, status=status)
    assert await status_of(member, loose) == status, "its author runs what is in no project"
    await member.refused("update_entity", Forbidden, match=refused, entity_id=loose, metadata={"project_id": project})
    open_one = await epic_of(member)
    await member.refused("update_entity", Forbidden, match=refused, entity_id=open_one, metadata=ended)
    listed = await owner.call("explore", mode="list", types=["epic"], project=project)
    assert listed["total"] == 0
    await owner.call("change_project_member", project_id=project, user_id=member.user_id, role="project_maintainer")
    assert (await member.call("create_entity", **draft))["metadata"]["status"] == status
    await member.call("update_entity", entity_id=loose, metadata={"project_id": project})
