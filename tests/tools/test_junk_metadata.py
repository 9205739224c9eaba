"""Deeds on tasks and epics whose metadata already holds what nobody expects there."""

from typing import Any

import pytest

from stores.errors import ValidationFailed
from tests.people import Person
from tests.tools.work.test_epics import epic_of
from tests.tools.work.test_tasks import project_of, read, task_of

pytestmark = pytest.mark.anyio

JUNK: tuple[Any, ...] = ([{"a": 1}, ["b"], None, 1, True, "abc"], {"a": [1]}, "text", 7, False, [])
FREE = (
    "commit_shas", "technologies", "learnings", "blockers_encountered", "branch_name", "pr_url", "feature",
    "due_date", "started_at", "completed_at", "archived_at", "actual_hours", "tech_stack",
)  # fmt: skip
ON_TASK: tuple[tuple[str, dict[str, Any]], ...] = (
    ("start_task", {"assignee": "Ada"}), ("block_task", {"reason": "r"}), ("unblock_task", {}),
    ("submit_review", {"commit_shas": ["abc", "def", "abc"], "pr_url": "p"}),
    ("update_task", {"technologies": ["go"], "assignees": ["Bob"], "feature": None, "status": "todo"}),
    ("complete_task", {"learnings": "It is far.", "actual_hours": 2}), ("archive_task", {"reason": "r"}),
)  # fmt: skip
ON_EPIC: tuple[tuple[str, dict[str, Any]], ...] = (
    ("start_epic", {}), ("update_epic", {"assignees": ["Bob"], "priority": "high"}),
    ("complete_epic", {"learnings": "It is far."}), ("archive_epic", {"reason": "r"}),
)  # fmt: skip
ADVICE = ("prioritize", "suggest", "detect_cycles")


@pytest.mark.parametrize("junk", JUNK, ids=repr)
async def test_every_deed_survives_what_the_metadata_holds(junk: Any, owner: Person) -> None:
    project = await project_of(owner)
    epic = await epic_of(owner, project)
    task = await task_of(owner, project, epic_id=epic)
    stuffed = dict.fromkeys(FREE, junk)
    for deeds, key, subject in ((ON_TASK, "task_id", task), (ON_EPIC, "epic_id", epic)):
        for deed, fields in deeds:
            await owner.call("update_entity", entity_id=subject, metadata=stuffed)
            assert (await owner.call(deed, **{key: subject}, **fields))["success"], deed
            for action in ADVICE:
                data = {"assignee": "Ada"} if action == "suggest" else {}
                await owner.call("manage", action=action, entity_id=project, data=data)
    await owner.call("project_metrics", project_id=project)


@pytest.mark.parametrize("key", ["assignees", "depends_on", "epic_id"])
async def test_what_deeds_rely_on_cannot_become_junk(key: str, owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    for junk in ([{"a": 1}], {"a": 1}, 7):
        await owner.refused("update_entity", ValidationFailed, entity_id=task, metadata={key: junk})
    assert (await owner.call("update_task", task_id=task, remove_depends_on=["x"], assignees=["Ada"]))["success"]


async def test_commits_join_what_is_known_of_them(owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    await owner.call("update_entity", entity_id=task, metadata={"commit_shas": [{"a": 1}, "abc"]})
    handed = await owner.call("submit_review", task_id=task, commit_shas=["def", "abc", "def"])
    assert handed["data"]["commit_shas"] == [{"a": 1}, "abc", "def"]
    assert (await read(owner, task))["metadata"]["commit_shas"] == [{"a": 1}, "abc", "def"]
