"""Notes on tasks: written by contributors, read by whoever reads the task, gone with it."""

from typing import Any

import pytest

from stores.errors import Forbidden, NotFound
from tests.people import Person, caught_up
from tests.tools.runtime.test_events import collect
from tests.tools.work.test_tasks import give_role, project_of, read, task_of
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio


async def notes_on(person: Person, task: str, **fields: Any) -> list[str]:
    listed = await person.call("list_notes", task_id=task, **fields)
    assert listed["count"] == len(listed["notes"])
    return [note["content"] for note in listed["notes"]]


async def test_a_note_is_kept_as_it_was_said(owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    text = "\n  First line\nsecond line  "
    made = await owner.call("add_note", task_id=task, content=text, author_type="agent", author_name="scout")
    assert made["mutation_receipt"]["affected_records"] == [f"entity:{made['id']}"]
    said = {"task_id": task, "content": text, "author_type": "agent", "author_name": "scout"}
    assert {**said, "status": "pending"}.items() <= made.items()
    await owner.call("add_note", task_id=task, content="later")
    listed = await owner.call("list_notes", task_id=task)
    assert listed["notes"][1] == {**made, "status": None, "mutation_receipt": None}
    assert (listed["notes"][0]["author_type"], listed["notes"][0]["author_name"]) == ("user", "")
    assert await notes_on(owner, task, limit=1) == ["later"]
    entity = await read(owner, made["id"])
    assert (entity["entity_type"], entity["name"], entity["content"]) == ("note", "First line", text)
    assert said.items() - {("content", text)} <= entity["metadata"].items()


async def test_contributors_write_notes_and_viewers_read_them(owner: Person, member: Person, viewer: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project)
    await owner.call("add_note", task_id=task, content="one")
    await member.refused("add_note", Forbidden, match="You may read", task_id=task, content="two")
    await viewer.refused("add_note", Forbidden, match="Your role is Viewer", task_id=task, content="two")
    for reader in (member, viewer):
        assert await notes_on(reader, task) == ["one"]
    await give_role(owner, project, member, "project_contributor")
    await member.call("add_note", task_id=task, content="two")
    assert await notes_on(viewer, task) == ["two", "one"]


async def test_a_note_goes_where_its_task_goes_and_goes_with_it(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project)
    note = (await owner.call("add_note", task_id=task, content="walrus"))["id"]
    assert (await read(member, note))["metadata"]["project_id"] == project
    hidden = await project_of(owner, visibility="private")
    await owner.call("update_entity", entity_id=task, metadata={"project_id": hidden})
    with pytest.raises(NotFound):
        await read(member, note)
    assert (await read(owner, note))["metadata"]["project_id"] == hidden
    assert await notes_on(owner, task) == ["walrus"]
    await owner.call("update_entity", entity_id=task, metadata={"memory_scope": "organization"})
    assert (await read(member, note))["id"] == note
    await owner.call("delete_entity", entity_id=task)
    with pytest.raises(NotFound):
        await read(owner, note)
    with pytest.raises(NotFound):
        await notes_on(owner, task)
    await caught_up(owner)


@pytest.mark.parametrize("kind", ["task", "epic"])
async def test_what_was_learned_goes_where_its_work_goes(owner: Person, member: Person, kind: str) -> None:
    project = await project_of(owner)
    work = (await owner.call("create_entity", name="W", entity_type=kind, metadata={"project_id": project}))["id"]
    done = await owner.call(f"complete_{kind}", **{f"{kind}_id": work}, learnings="the bakery safe")
    episode = done["data"]["episode_id"]
    assert (await read(member, episode))["content"] == "the bakery safe"
    hidden = await project_of(owner, visibility="private")
    for away in ({"project_id": hidden}, {"project_id": project}, {"memory_scope": "private"}):
        await owner.call("update_entity", entity_id=work, metadata=away)
        for each in (work, episode):
            if away == {"project_id": project}:
                assert (await read(member, each))["metadata"]["project_id"] == project
            else:
                with pytest.raises(NotFound):
                    await read(member, each)
    await caught_up(owner)
    found = (await member.call("search", query="bakery safe"))["results"]
    assert not {work, episode} & {each["id"] for each in found}
    await owner.call("update_entity", entity_id=work, metadata={"memory_scope": "project"})
    assert (await read(member, episode))["metadata"]["memory_scope"] == "project"


async def test_an_episode_that_its_author_hid_stays_hidden(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project)
    episode = (await owner.call("complete_task", task_id=task, learnings="secret"))["data"]["episode_id"]
    await owner.call("update_entity", entity_id=episode, metadata={"memory_scope": "private"})
    other = await project_of(owner)
    await owner.call("update_entity", entity_id=task, metadata={"project_id": other})
    assert (await read(member, task))["metadata"]["project_id"] == other
    with pytest.raises(NotFound):
        await read(member, episode)
    await give_role(owner, other, member, "project_contributor")
    again = (await member.call("complete_task", task_id=task, learnings="secret"))["data"]["episode_id"]
    assert again != episode, "nobody learns from a refusal what another one hid"
    assert (await read(member, again))["content"] == "secret"


async def test_what_others_wrote_about_a_task_stays_theirs(owner: Person, member: Person) -> None:
    project = await project_of(owner)
    task = await task_of(owner, project)
    fields = {"entity_type": "note", "related_to": [f"about:{task}"]}
    forged = {"task_id": task, "memory_scope": "private"}
    private = (await member.call("create_entity", name="p", content="mine", metadata=forged, **fields))["id"]
    loose = (await member.call("create_entity", name="l", content="loose", **fields))["id"]
    assert await notes_on(owner, task) == await notes_on(member, task) == [], "nobody speaks on a task unasked"
    await owner.call("update_entity", entity_id=task, metadata={"memory_scope": "organization"})
    with pytest.raises(NotFound):
        await read(owner, private)
    await owner.call("delete_entity", entity_id=task)
    assert (await read(member, private))["content"] == "mine"
    assert (await read(member, loose))["content"] == "loose"


async def test_a_note_and_a_deed_are_told_with_their_task_and_without_text(owner: Person) -> None:
    task = await task_of(owner, await project_of(owner))
    await caught_up(owner)
    async with owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token)) as stream:
        made = await owner.call("add_note", task_id=task, content="Secret")
        events = await collect(stream, 4)
        await owner.call("block_task", task_id=task, reason="Secret")
        (deed,) = await collect(stream, 1)
    assert [event.name for event in events] == ["entity_pending", "note_pending", "entity_created", "note_created"]
    assert [event.data for event in events] == [{"id": made["id"], "entity_type": "note", "task_id": task}] * 4
    assert deed.name == "entity_updated"
    assert deed.data == {"id": task, "entity_type": "task", "status": "blocked", "action": "block_task"}
