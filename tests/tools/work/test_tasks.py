"""Tasks: how they are created, changed and moved, and by whom."""

import re
from typing import Any

import pytest

from stores.errors import Conflict, Forbidden, InvalidRequest, NotFound, ValidationFailed
from stores.records import ProjectRole
from tests.people import Person, caught_up
from tools.frame.threads import in_thread
from tools.records.workflow import branch_name

pytestmark = pytest.mark.anyio


async def project_of(person: Person, **metadata: Any) -> str:
    made = await person.call("create_entity", name="Apollo", entity_type="project", metadata=metadata)
    return str(made["id"])


async def task_of(person: Person, project: str, **fields: Any) -> str:
    made = await person.call("create_task", **{"title": "Fix the valve", "project_id": project, **fields})
    return str(made["task_id"])


async def read(person: Person, entity_id: str) -> dict[str, Any]:
    return dict(await person.call("get_entity", entity_id=entity_id, include_summary=False))


async def give_role(owner: Person, project: str, to: Person, role: ProjectRole) -> None:
    await in_thread(owner.app.ledger.project_members.add, owner.organization_id, project, to.user_id, role)


async def test_a_task_has_the_fields_that_it_was_given(owner: Person) -> None:
    project = await project_of(owner)
    first = await task_of(owner, project)
    given = {"priority": "high", "complexity": "complex", "assignees": ["Ada"], "feature": "f", "technologies": ["go"]}
    made = await owner.call(
        "create_task", title="T", description="d", project_id=project, tags=["x"], depends_on=[first, first], **given
    )
    assert (made["success"], made["action"], made["message"]) == (True, "create", "Task created")
    assert made["data"] == {"status": "todo", "revision": 1, "project_id": project}
    assert made["mutation_receipt"]["affected_records"] == [f"entity:{made['task_id']}"]
    task = await read(owner, made["task_id"])
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", task["id"])
    assert (task["name"], task["description"], task["tags"]) == ("T", "d", ["x"])
    assert given.items() <= task["metadata"].items()
    assert task["metadata"]["depends_on"] == [first]
    assert {"epic_id", "parent_task_id"}.isdisjoint(task["metadata"]), "nothing is stored for what was not given"


async def test_everybody_is_assigned_once_and_nobody_is_a_blank(owner: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project, assignees=[" Ada ", "Bob", "ada", "Bob"])
    assert (await read(owner, task))["metadata"]["assignees"] == ["Ada", "Bob"]
    epic = (await owner.call("create_entity", name="E", entity_type="epic"))["id"]
    changes: dict[str, Any] = {"update_task": {"task_id": task}, "update_epic": {"epic_id": epic}}
    for operation, subject in changes.items():
        await owner.call(operation, **subject, assignees=["Cy", "Cy", "Bob"])
        for wrong in (["Cy", " "], [""]):
            refused = await owner.refused(operation, ValidationFailed, **subject, assignees=wrong)
            assert str(refused.details["field"]).startswith("body.assignees")
    assert (await read(owner, epic))["metadata"]["assignees"] == ["Cy", "Bob"]
    await owner.refused("start_task", ValidationFailed, task_id=task, assignee="\u00a0")
    started = await owner.call("start_task", task_id=task, assignee="CY")
    assert started["data"]["assignees"] == ["Cy", "Bob"]
    for odd in ("Ada", ["Ada", 7], [None], ["\t"], {"name": "Ada"}):
        refused = await owner.refused("update_entity", ValidationFailed, entity_id=task, metadata={"assignees": odd})
        assert refused.details["field"] == "body.metadata.assignees"
    await owner.call("update_entity", entity_id=task, metadata={"assignees": ["Dee", "dee "]})
    assert (await read(owner, task))["metadata"]["assignees"] == ["Dee"]


async def test_a_task_needs_a_live_project_in_sight(owner: Person, member: Person, stranger: Person) -> None:
    hidden = await project_of(owner, visibility="private")
    for person, project in ((owner, "project_0"), (member, hidden), (stranger, hidden)):
        with pytest.raises(NotFound, match=f"no project {project}"):
            await task_of(person, project)
    await owner.call("delete_entity", entity_id=hidden)
    with pytest.raises(NotFound, match=f"no project {hidden}"):
        await task_of(owner, hidden)


async def test_a_start_assigns_dates_and_names_a_branch(owner: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project, title="Fix the Ünter-valve, now!")
    begun = await owner.call("start_task", task_id=task)
    branch = f"task/{task[:8]}-fix-the-unter-valve-now"
    assert (begun["action"], begun["task_id"]) == ("start_task", task)
    assert begun["data"]["status"] == "doing"
    assert (begun["data"]["branch_name"], begun["data"]["assignees"]) == (branch, ["owner"])
    assert begun["data"]["revision"] == begun["mutation_receipt"]["revision"] == 2
    await owner.call("update_task", task_id=task, title="Other")
    again = await owner.call("start_task", task_id=task, assignee="Ada")
    assert again["data"]["branch_name"] == branch
    assert again["data"]["started_at"] == begun["data"]["started_at"]
    assert again["data"]["assignees"] == ["owner", "Ada"]


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Retry (with jitter)", "retry-with-jitter"),
        ("配置を直す", "task"),
        ("--- ---", "task"),
        ("a" * 200, "a" * 40),
        (f"{'a' * 39} b", "a" * 39),
    ],
    ids=["words", "no letters of ours", "signs", "long", "cut at a dash"],
)
def test_a_branch_is_named_after_its_task(title: str, slug: str) -> None:
    assert branch_name("0B1c2d3e-4f00-4000-8000-000000000000", title) == f"task/0b1c2d3e-{slug}"


async def test_a_task_goes_through_all_its_states(owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    await owner.call("start_task", task_id=task)
    blocked = await owner.call("block_task", task_id=task, reason="no power")
    assert (blocked["data"]["status"], blocked["data"]["reason"]) == ("blocked", "no power")
    await owner.call("block_task", task_id=task, reason="no water")
    assert (await owner.call("unblock_task", task_id=task))["data"]["status"] == "doing"
    handed = await owner.call("submit_review", task_id=task, pr_url="https://git.example/1", commit_shas=["a1", "b2"])
    assert handed["data"]["pr_url"] == "https://git.example/1"
    again = await owner.call("submit_review", task_id=task, commit_shas=["b2", "c3"])
    assert (again["data"]["status"], again["data"]["commit_shas"]) == ("review", ["a1", "b2", "c3"])
    done = await owner.call("complete_task", task_id=task, actual_hours=2.5)
    assert (done["data"]["status"], done["data"]["actual_hours"]) == ("done", 2.5)
    kept = (await read(owner, task))["metadata"]
    assert kept["blockers_encountered"] == ["no power", "no water"]
    assert kept["pr_url"] == "https://git.example/1"
    assert kept["started_at"] < kept["reviewed_at"] < kept["completed_at"]
    reopened = await owner.call("start_task", task_id=task)
    assert reopened["data"]["status"] == "doing"
    assert (await read(owner, task))["metadata"]["completed_at"] is None
    away = await owner.call("archive_task", task_id=task, reason="no use")
    assert (away["data"]["status"], away["data"]["reason"]) == ("archived", "no use")
    assert (await read(owner, task))["metadata"]["archive_reason"] == "no use"


DEEDS: dict[str, tuple[str, dict[str, Any]]] = {
    "start_task": ("doing", {}), "block_task": ("blocked", {"reason": "r"}), "unblock_task": ("doing", {}),
    "submit_review": ("review", {}), "complete_task": ("done", {"learnings": "much"}),
    "update_task": ("backlog", {"status": "backlog"}),
}  # fmt: skip


@pytest.mark.parametrize("deed", DEEDS)
async def test_archived_is_final_whatever_is_done(deed: str, owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    await owner.call("archive_task", task_id=task)
    status, fields = DEEDS[deed]
    with pytest.raises(InvalidRequest, match=rf"^Invalid transition: archived -> {status}\.$"):
        await owner.call(deed, task_id=task, **fields)
    with pytest.raises(InvalidRequest, match=f"archived -> {status}"):
        await owner.call("update_entity", entity_id=task, metadata={"status": status})
    assert (await read(owner, task))["revision"] == 2
    assert (await owner.call("list_entities", entity_type="episode"))["total"] == 0
    assert (await owner.call("archive_task", task_id=task))["success"], "to the same state is no move"
    assert (await owner.call("update_task", task_id=task, title="Renamed"))["data"]["status"] == "archived"


async def test_a_move_by_a_change_of_metadata_brings_the_same_along(owner: Person) -> None:
    made = await owner.call("create_entity", name="Fix", entity_type="task")
    task = made["id"]
    for status, stamp in (("doing", "started_at"), ("review", "reviewed_at"), ("done", "completed_at")):
        changed = await owner.call("update_entity", entity_id=task, metadata={"status": status})
        assert changed["metadata"][stamp] == changed["updated_at"].replace("Z", "+00:00")
    assert changed["metadata"]["branch_name"] == f"task/{task[:8]}-fix"
    assert "assignees" not in changed["metadata"], "only a start assigns"
    told = {"status": "done", "completed_at": "2020-01-01"}
    other = await owner.call("create_entity", name="Old", entity_type="task", metadata=told)
    assert other["metadata"]["completed_at"] == "2020-01-01"


async def test_a_change_keeps_what_it_does_not_name(owner: Person) -> None:
    project = await project_of(owner)
    first, second, third = [await task_of(owner, project) for _ in range(3)]
    task = await task_of(owner, project, feature="f", parent_task_id=first, depends_on=[first, second])
    queued = await owner.call("update_task", task_id=task, title="New", priority="low")
    assert (queued["action"], queued["message"]) == ("update_task", "Update queued")
    await owner.call("update_task", task_id=task, feature=None, parent_task_id=None, description=None, tags=["t"])
    waited = await owner.call(
        "update_task", task_id=task, add_depends_on=[third, third], remove_depends_on=[first], sync=True
    )
    assert waited["message"] == "Task updated"
    found = await read(owner, task)
    assert (found["name"], found["description"], found["tags"], found["revision"]) == ("New", "", ["t"], 4)
    kept = found["metadata"]
    assert (kept["priority"], kept["feature"], kept["parent_task_id"]) == ("low", None, None)
    assert kept["depends_on"] == [second, third]
    assert kept["project_id"] == project


async def test_a_change_of_nothing_is_refused(owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    empty: tuple[dict[str, Any], ...] = ({}, {"title": None}, {"add_depends_on": []})
    for fields in empty:
        with pytest.raises(InvalidRequest, match="Nothing to change") as refused:
            await owner.call("update_task", task_id=task, sync=True, expected_revision=1, **fields)
        assert "add_depends_on" in refused.value.remediation
        assert "expected_revision" not in refused.value.remediation


@pytest.mark.parametrize(
    ("deed", "fields"),
    [
        ("create_task", {"title": " ", "project_id": "p"}),
        ("create_task", {"title": "x"}),
        ("create_task", {"title": "x", "project_id": "p", "status": "finished"}),
        ("update_task", {"task_id": "t", "priority": "urgent"}),
        ("update_task", {"task_id": "t", "expected_revision": 0}),
        ("block_task", {"task_id": "t"}),
        ("block_task", {"task_id": "t", "reason": "\n"}),
        ("complete_task", {"task_id": "t", "actual_hours": -1}),
    ],
)
async def test_invalid_requests_are_refused_first(deed: str, fields: dict[str, Any], owner: Person) -> None:
    refused = await owner.refused(deed, ValidationFailed, **fields)
    assert str(refused.details["field"]).startswith("body.")


async def test_a_stale_revision_is_refused_by_every_deed(owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    await owner.call("update_task", task_id=task, title="Newer", expected_revision=1)
    for deed, (_, fields) in {**DEEDS, "archive_task": ("archived", {})}.items():
        with pytest.raises(Conflict, match="at revision 2, not at 1"):
            await owner.call(deed, task_id=task, expected_revision=1, **fields)
    assert (await read(owner, task))["metadata"]["status"] == "todo"
    assert (await owner.call("list_entities", entity_type="episode"))["total"] == 0


async def test_learnings_become_an_episode_of_those_who_read_the_task(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    await give_role(owner, project, member, "project_contributor")
    task = await task_of(owner, project)
    helped = (await owner.call("create_entity", name="Manual", entity_type="guide"))["id"]
    said = {"task_id": task, "learnings": "The valve sticks in winter.", "cited_ids": [helped, helped]}
    done = await owner.call("complete_task", **said)
    episode = await read(member, done["data"]["episode_id"])
    assert (episode["entity_type"], episode["content"]) == ("episode", "The valve sticks in winter.")
    assert episode["name"] == "Learnings: Fix the valve"
    expected = {"task_id": task, "project_id": project, "memory_scope": "project", "scope_key": project}
    assert expected.items() <= episode["metadata"].items()
    assert f"entity:{episode['id']}" in done["mutation_receipt"]["affected_records"]
    assert (await read(owner, task))["metadata"]["learnings"] == "The valve sticks in winter."
    around = (await member.call("get_entity", entity_id=task))["related"]
    related = {(each["id"], each["relationship"], each["direction"]) for each in around}
    assert {(helped, "REFERENCES", "outgoing"), (episode["id"], "DERIVED_FROM", "incoming")} <= related
    assert "episode_id" not in (await owner.call("complete_task", **said))["data"], "it is known already"
    assert "episode_id" not in (await owner.call("complete_task", task_id=task, learnings="  "))["data"]
    assert (await owner.call("list_entities", entity_type="episode"))["total"] == 1


async def test_words_that_are_no_episode_yet_become_one(owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    await owner.call("update_entity", entity_id=task, metadata={"learnings": "Ocelots need rope"})
    done = await owner.call("complete_task", task_id=task, learnings="Ocelots need rope")
    episode = done["data"]["episode_id"]
    assert (await read(owner, episode))["content"] == "Ocelots need rope"
    await owner.call("delete_entity", entity_id=episode)
    again = await owner.call("complete_task", task_id=task, learnings="Ocelots need rope")
    assert again["data"]["episode_id"] not in (None, episode)


async def test_what_is_learned_on_a_private_task_stays_private(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    metadata = {"project_id": project, "memory_scope": "private"}
    made = await owner.call("create_entity", name="Mine", entity_type="task", metadata=metadata)
    done = await owner.call("complete_task", task_id=made["id"], learnings="zanzibar")
    episode = await read(owner, done["data"]["episode_id"])
    assert (episode["metadata"]["memory_scope"], episode["metadata"]["scope_key"]) == ("private", owner.user_id)
    with pytest.raises(NotFound):
        await read(member, episode["id"])
    await caught_up(owner)
    hits = (await member.call("search", query="zanzibar"))["results"]
    assert episode["id"] not in {hit["id"] for hit in hits}


async def test_a_citation_of_what_is_not_there_undoes_the_whole_deed(owner: Person, member: Person) -> None:
    hidden = await member.call("create_entity", name="x", metadata={"memory_scope": "private"})
    task = await task_of(owner, await project_of(owner))
    for cited in (hidden["id"], "note_0"):
        with pytest.raises(NotFound, match=f"cited_ids names {cited}, which does not exist"):
            await owner.call("complete_task", task_id=task, learnings="x", cited_ids=[cited])
    assert (await read(owner, task))["metadata"]["status"] == "todo"
    assert (await owner.call("list_entities", entity_type="episode"))["total"] == 0


async def test_only_contributors_work_on_project_tasks(owner: Person, member: Person, viewer: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project)
    deeds = {**DEEDS, "archive_task": ("archived", {})}
    with pytest.raises(Forbidden, match="You may read project"):
        await task_of(member, project)
    for deed, (_, fields) in deeds.items():
        await member.refused(deed, Forbidden, match=f"You may read {task} but not do this", task_id=task, **fields)
        await viewer.refused(deed, Forbidden, match="Your role is Viewer", task_id=task, **fields)
    await give_role(owner, project, member, "project_contributor")
    for deed, (status, fields) in deeds.items():
        assert (await member.call(deed, task_id=task, **fields))["data"]["status"] == status


async def test_a_task_out_of_sight_is_as_one_that_is_not_there(owner: Person, member: Person, stranger: Person) -> None:
    secret = await project_of(owner, visibility="private")
    open_task = {"project_id": secret, "memory_scope": "organization"}
    seen = (await owner.call("create_entity", name="S", entity_type="task", metadata=open_task))["id"]
    hidden = await task_of(owner, secret)
    epic = (await owner.call("create_entity", name="E", entity_type="epic"))["id"]
    assert (await read(member, seen))["id"] == seen, "everybody may read it, but not its project"
    for person, task in ((member, seen), (member, hidden), (stranger, hidden), (owner, epic), (owner, "nothing")):
        for deed, (_, fields) in DEEDS.items():
            with pytest.raises(NotFound, match=f"^There is no task {task}\\.$"):
                await person.call(deed, task_id=task, expected_revision=77, **fields)
        await person.refused("list_notes", NotFound, match=f"^There is no task {task}\\.$", task_id=task)


async def test_a_task_without_a_project_is_worked_on_by_every_member(owner: Person, member: Person) -> None:
    task = (await owner.call("create_entity", name="T", entity_type="task"))["id"]
    assert (await member.call("start_task", task_id=task))["data"]["assignees"] == ["member"]
