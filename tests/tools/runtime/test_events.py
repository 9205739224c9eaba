"""Events follow the change feed, and each reaches only those who may see its record."""

import anyio
import pytest

from tests.people import Person
from tools.frame.threads import in_thread
from tools.runtime.events import BUFFER, Event, Subscription

pytestmark = pytest.mark.anyio


async def collect(stream: Subscription, count: int) -> list[Event]:
    found: list[Event] = []
    with anyio.fail_after(20):
        async for event in stream:
            found.append(event)
            if len(found) == count:
                break
    return found


async def test_an_asynchronous_creation_is_pending_then_created(owner: Person) -> None:
    async with owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token)) as stream:
        made = await owner.call("create_entity", name="Secret name", entity_type="note")
        events = await collect(stream, 2)
    assert [event.name for event in events] == ["entity_pending", "entity_created"]
    assert [event.data for event in events] == [{"id": made["id"], "entity_type": "note"}] * 2
    assert "Secret" not in repr(events)


async def test_a_synchronous_creation_is_created_once_then_updated_and_deleted(owner: Person) -> None:
    async with owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token)) as stream:
        made = await owner.call("create_entity", name="a", sync=True)
        first = await collect(stream, 1)
        await owner.call("update_entity", entity_id=made["id"], name="b")
        await owner.call("delete_entity", entity_id=made["id"])
        rest = await collect(stream, 2)
    assert [event.name for event in first + rest] == ["entity_created", "entity_updated", "entity_deleted"]


async def test_a_private_record_makes_no_event_for_others(owner: Person, member: Person, stranger: Person) -> None:
    app = owner.app
    async with (
        app.events.subscribe(await in_thread(app.accounts.authenticate, owner.token)) as owners,
        app.events.subscribe(await in_thread(app.accounts.authenticate, stranger.token)) as strangers,
        app.events.subscribe(await in_thread(app.accounts.authenticate, member.token)) as members,
    ):
        hidden = await member.call("create_entity", name="x", metadata={"memory_scope": "private"}, sync=True)
        shown = await member.call("create_entity", name="y", sync=True)
        other = await stranger.call("create_entity", name="z", sync=True)
        assert {event.data["id"] for event in await collect(members, 2)} == {hidden["id"], shown["id"]}
        assert [event.data["id"] for event in await collect(owners, 1)] == [shown["id"]]
        assert [event.data["id"] for event in await collect(strangers, 1)] == [other["id"]]


async def test_a_subscriber_that_does_not_read_is_cut_off(owner: Person) -> None:
    async with owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token)) as stream:
        for _ in range(BUFFER // 128 + 2):
            await owner.call("bulk_create_entities", entities=[{"name": f"n{n}"} for n in range(128)])
        with anyio.fail_after(30):
            while not stream.is_over:  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.01)
            assert len([event async for event in stream]) <= BUFFER


async def test_events_of_a_new_project_reach_who_may_see_it(owner: Person, member: Person) -> None:
    app = owner.app
    async with (
        app.events.subscribe(await in_thread(app.accounts.authenticate, owner.token)) as owners,
        app.events.subscribe(await in_thread(app.accounts.authenticate, member.token)) as members,
    ):
        hidden = {"visibility": "private"}
        project = await owner.call("create_entity", name="P", entity_type="project", metadata=hidden)
        task = {"name": "T", "entity_type": "task", "metadata": {"project_id": project["id"], "status": "doing"}}
        made = await owner.call("create_entity", **task, sync=True)
        shown = await owner.call("create_entity", name="open", sync=True)
        events = await collect(owners, 3)
        assert [event.data["id"] for event in events] == [project["id"], made["id"], shown["id"]]
        assert events[1].data["status"] == "doing"
        assert [event.data["id"] for event in await collect(members, 1)] == [shown["id"]]


async def test_a_deleted_record_is_never_announced_as_created_afterwards(owner: Person) -> None:
    async with owner.app.events.subscribe(await in_thread(owner.app.accounts.authenticate, owner.token)) as stream:
        made = await owner.call("create_entity", name="a")
        await owner.call("update_entity", entity_id=made["id"], name="b")
        await owner.call("delete_entity", entity_id=made["id"])
        last = await owner.call("create_entity", name="last", sync=True)
        names: list[tuple[str, object]] = []
        with anyio.fail_after(20):
            async for event in stream:
                names.append((event.name, event.data["id"]))
                if event.data["id"] == last["id"]:
                    break
    assert [name for name, each in names if each == made["id"]] == [
        "entity_pending", "entity_created", "entity_updated", "entity_deleted",
    ]  # fmt: skip
