from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.people import Person, person
from tools.app import open_app
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

pytestmark = pytest.mark.anyio


async def project(owner: Person, **metadata: Any) -> str:
    return str((await owner.call("create_entity", name="Auth", entity_type="project", metadata=metadata))["id"])


async def task(owner: Person, project_id: str | None, status: str = "todo", **metadata: Any) -> str:
    named = {"project_id": project_id} if project_id else {}
    fields = {"name": "t", "entity_type": "task", "metadata": {"status": status, **named, **metadata}}
    return str((await owner.call("create_entity", **fields))["id"])


async def metrics(reader: Person, project_id: str) -> dict[str, Any]:
    return dict((await reader.call("project_metrics", project_id=project_id))["metrics"])


def velocity(found: dict[str, Any]) -> list[int]:
    return [point["value"] for point in found["velocity_trend"]]


async def test_an_empty_project_has_every_field(owner: Person) -> None:
    project_id = await project(owner)
    found = await metrics(owner, project_id)
    trend = found.pop("velocity_trend")
    assert found == {
        "project_id": project_id, "project_name": "Auth", "total_tasks": 0,
        "status_distribution": {"backlog": 0, "todo": 0, "doing": 0, "blocked": 0, "review": 0, "done": 0},
        "priority_distribution": {"critical": 0, "high": 0, "medium": 0, "low": 0, "someday": 0},
        "completion_rate": 0.0, "assignees": [], "tasks_created_last_7d": 0, "tasks_completed_last_7d": 0,
    }  # fmt: skip
    assert len(trend) == 30
    assert trend[-1] == {"date": datetime.now(UTC).date().isoformat(), "value": 0}


async def test_tasks_are_counted_by_status_priority_and_assignee(owner: Person) -> None:
    project_id, other = await project(owner), await project(owner)
    await task(owner, project_id, "doing", priority="high", assignees=["Ada", "Bob"])
    await task(owner, project_id, "review", assignees=["Ada"])
    done = await task(owner, project_id, assignees=["ada"])
    await owner.call("update_entity", entity_id=done, metadata={"status": "done"})
    await task(owner, project_id, "archived", assignees=["Ada"])
    await task(owner, other, "done")
    await task(owner, None, "done")
    await owner.call("create_entity", name="n", metadata={"project_id": project_id, "status": "done"})
    found = await metrics(owner, project_id)
    assert found["total_tasks"] == 3
    assert found["status_distribution"] == {"backlog": 0, "todo": 0, "doing": 1, "blocked": 0, "review": 1, "done": 1}
    assert found["priority_distribution"] == {"critical": 0, "high": 1, "medium": 2, "low": 0, "someday": 0}
    assert found["completion_rate"] == 33.3
    people = {each.pop("name").lower(): each for each in found["assignees"]}
    assert people["ada"] == {"total": 3, "completed": 1, "in_progress": 1}
    assert people["bob"] == {"total": 1, "completed": 0, "in_progress": 1}
    assert (found["tasks_created_last_7d"], found["tasks_completed_last_7d"]) == (4, 1)
    assert velocity(found)[-1] == sum(velocity(found)) == 1


async def test_private_tasks_of_others_count_in_no_number(owner: Person, member: Person) -> None:
    project_id = await project(owner)
    before = await metrics(member, project_id)
    hidden = await task(owner, project_id, "done", memory_scope="private", assignees=["Secret"], priority="critical")
    assert await metrics(member, project_id) == before
    mine = await metrics(owner, project_id)
    assert (mine["total_tasks"], mine["tasks_completed_last_7d"], sum(velocity(mine))) == (1, 1, 1)
    await owner.call("update_entity", entity_id=hidden, metadata={"memory_scope": "project"})
    assert await metrics(member, project_id) == mine
    await owner.call("update_entity", entity_id=hidden, metadata={"memory_scope": "private"})
    assert await metrics(member, project_id) == before
    await owner.call("delete_entity", entity_id=hidden)
    assert await metrics(owner, project_id) == before


async def test_a_task_counts_on_the_day_of_its_last_completion(settings: Settings) -> None:
    now = [datetime(2026, 3, 1, 23, 30, tzinfo=UTC)]
    quiet = settings.model_copy(update={"embedding_provider": "none"})
    async with open_app(quiet, logs=LogRing(), clock=lambda: now[0]) as app:
        owner = await person(app, "owner")
        project_id = await project(owner)
        first, second = await task(owner, project_id, "done"), await task(owner, project_id)
        # A session lasts longer than an access token: the clock of this test moves by days.
        now[0] += timedelta(minutes=45)
        await owner.call("update_entity", entity_id=second, metadata={"status": "done"})
        await owner.call("update_entity", entity_id=first, metadata={"status": "doing"})
        found = await metrics(owner, project_id)
        assert [each for each in found["velocity_trend"] if each["value"]] == [{"date": "2026-03-02", "value": 1}]
        await owner.call("update_entity", entity_id=first, metadata={"status": "done"})
        await owner.call("update_entity", entity_id=first, metadata={"status": "archived"})
        found = await metrics(owner, project_id)
        assert velocity(found)[-2:] == [0, 2]
        assert (found["total_tasks"], found["completion_rate"], found["tasks_completed_last_7d"]) == (1, 100.0, 2)
