"""Ids of other records in metadata: shown to whoever may read what they name, and lost to nobody."""

from typing import Any

import pytest

from stores.errors import NotFound, ValidationFailed
from tests.people import Person, caught_up
from tests.tools.records.test_containment import PRIVATE, made
from tests.tools.relations.test_relations import listed
from tests.tools.test_hidden_epics import project_for
from tools.records.containment import DEPENDENCIES_LIMIT

pytestmark = pytest.mark.anyio


async def shown(person: Person, task: str, **asked: Any) -> dict[str, Any]:
    found = await person.call("get_entity", entity_id=task, **asked)
    keys = ("epic_id", "parent_task_id", "depends_on")
    return {key: found["metadata"][key] for key in keys if key in found["metadata"]}


async def everywhere(person: Person, task: str) -> list[dict[str, Any]]:
    lists = [
        (await person.call("list_entities", entity_type="task"))["entities"],
        (await person.call("explore", mode="list", types=["task"]))["entities"],
        [await person.call("update_entity", entity_id=task, tags=["x"])],
    ]
    return [next(each["metadata"] for each in found if each["id"] == task) for found in lists]


async def test_ids_of_what_became_private_are_left_out_of_what_others_see(owner: Person, member: Person) -> None:
    project = await project_for(owner, member)
    epic, secret = [await made(owner, name, "epic", project_id=project) for name in ("E", "S")]
    open_one = await made(owner, "open", project_id=project)
    task = await made(
        owner, "T", project_id=project, epic_id=epic, parent_task_id=open_one, depends_on=[secret, open_one, epic]
    )
    every = {"epic_id": epic, "parent_task_id": open_one, "depends_on": [secret, open_one, epic]}
    assert await shown(member, task) == every
    for each in (epic, secret):
        await owner.call("update_entity", entity_id=each, metadata=PRIVATE)
    some = {"parent_task_id": open_one, "depends_on": [open_one]}
    assert await shown(member, task) == some
    assert await shown(owner, task) == every
    for metadata in await everywhere(member, task):
        assert some.items() <= metadata.items()
        assert "epic_id" not in metadata
    for metadata in await everywhere(owner, task):
        assert every.items() <= metadata.items()
    await owner.call("delete_entity", entity_id=secret)
    assert (await shown(owner, task))["depends_on"] == [secret, open_one, epic], "what is gone is still named"


@pytest.mark.parametrize("sent", [["<open>"], [], None, ["<new>"], ["<hidden>", "<open>"]])
async def test_a_change_by_who_does_not_see_them_keeps_hidden_ids(owner: Person, member: Person, sent: Any) -> None:
    project = await project_for(owner, member)
    ids = {name: await made(owner, name, project_id=project) for name in ("<hidden>", "<open>", "<new>")}
    epic = await made(owner, "E", "epic", project_id=project)
    task = await made(owner, "T", project_id=project, epic_id=epic, depends_on=[ids["<open>"], ids["<hidden>"]])
    for each in (ids["<hidden>"], epic):
        await owner.call("update_entity", entity_id=each, metadata=PRIVATE)
    given = None if sent is None else [ids[name] for name in sent]
    seen = (await member.call("get_entity", entity_id=task))["metadata"]
    answer = await member.call("update_entity", entity_id=task, metadata={"depends_on": given})
    visible = [each for each in given or () if each != ids["<hidden>"]]
    assert answer["metadata"]["depends_on"] == visible
    assert await shown(owner, task) == {"epic_id": epic, "depends_on": [*visible, ids["<hidden>"]]}
    needed = {each["target_id"] for each in await listed(owner, task, name="DEPENDS_ON", direction="outgoing")}
    assert needed == {*visible, ids["<hidden>"]}
    back = {key: seen[key] for key in seen if key in ("depends_on", "status", "epic_id")}
    await member.call("update_entity", entity_id=task, metadata=back)
    assert await shown(owner, task) == {"epic_id": epic, "depends_on": [ids["<open>"], ids["<hidden>"]]}
    await caught_up(owner)


async def test_how_many_there_may_be_is_counted_without_what_is_hidden(owner: Person, member: Person) -> None:
    project = await project_for(owner, member)
    hidden, *others = [await made(owner, str(n), project_id=project) for n in range(DEPENDENCIES_LIMIT + 1)]
    task = await made(owner, "T", project_id=project, depends_on=[hidden])
    await owner.call("update_entity", entity_id=hidden, metadata=PRIVATE)
    await member.call("update_task", task_id=task, add_depends_on=others)
    assert (await shown(member, task))["depends_on"] == others
    assert len((await shown(owner, task))["depends_on"]) == DEPENDENCIES_LIMIT + 1
    with pytest.raises(ValidationFailed, match=f"a list of {DEPENDENCIES_LIMIT + 1}, which"):
        await member.call("update_entity", entity_id=task, metadata={"depends_on": [*others, task]})


async def test_an_entity_is_read_as_it_was(owner: Person) -> None:
    before = owner.app.clock().isoformat()
    hub, other = await made(owner, "hub", "note"), await made(owner, "near", "note")
    fact = await owner.call("add_relation", source_id=hub, name="ABOUT", target_id=other)
    then = owner.app.clock().isoformat()
    await owner.call("update_entity", entity_id=hub, name="Hub", content="new", metadata={"key": 1})
    await owner.call("update_entity", entity_id=other, name="Near")
    await owner.call("end_relation", relation_id=fact["id"])
    await owner.call("add_relation", source_id=hub, name="OWNS", target_id=other, valid_at="3999-01-01")
    now = await owner.call("get_entity", entity_id=hub)
    assert (now["name"], now["revision"], now["content"], now["related"]) == ("Hub", 2, "new", [])
    past = await owner.call("get_entity", entity_id=hub, as_of=then)
    assert (past["name"], past["revision"], past["content"]) == ("hub", 1, "")
    assert "key" not in past["metadata"]
    assert [(each["id"], each["name"], each["relationship"]) for each in past["related"]] == [(other, "near", "ABOUT")]
    assert await owner.call("get_entity", entity_id=hub, as_of="2999") == now
    assert (await owner.call("get_entity", entity_id=hub, as_of=then, include_summary=False))["related"] is None
    assert (await owner.call("get_entity", entity_id=hub, as_of=then, related_limit=0))["related"] == []
    for early in (before, "7d", "2020-W10-2"):
        await owner.refused("get_entity", NotFound, match=f"There was no entity {hub} at", entity_id=hub, as_of=early)
    with pytest.raises(ValidationFailed, match=r"as_of is not a date.*ISO 8601"):
        await owner.call("get_entity", entity_id=hub, as_of="soon")


async def test_what_was_hidden_then_or_is_now_is_not_read_as_it_was(owner: Person, member: Person) -> None:
    note = await made(owner, "secret", "note", **PRIVATE)
    near = await made(owner, "near", "note")
    await owner.call("add_relation", source_id=note, name="ABOUT", target_id=near)
    hidden = owner.app.clock().isoformat()
    await owner.call("update_entity", entity_id=note, metadata={"memory_scope": "organization"})
    opened = owner.app.clock().isoformat()
    assert (await member.call("get_entity", entity_id=note, as_of=opened))["name"] == "secret"
    refused = []
    for as_of in (hidden, "7d"):
        missed = await member.refused("get_entity", NotFound, entity_id=note, as_of=as_of)
        refused.append((missed.message.split(" at ")[0], missed.remediation))
    assert refused[0] == refused[1], "whether it was there, and hidden, or was not, is not told"
    assert (await member.call("get_entity", entity_id=near, as_of=hidden))["related"] == []
    assert (await owner.call("get_entity", entity_id=near, as_of=hidden))["related"][0]["id"] == note
    await owner.call("update_entity", entity_id=note, metadata=PRIVATE)
    await member.refused("get_entity", NotFound, match="There is no entity", entity_id=note, as_of=opened)


async def test_ids_that_were_hidden_then_are_left_out_of_the_past(owner: Person, member: Person) -> None:
    project = await project_for(owner, member)
    epic = await made(owner, "E", "epic", project_id=project, **PRIVATE)
    task = await made(owner, "T", project_id=project, epic_id=epic)
    hidden = owner.app.clock().isoformat()
    await owner.call("update_entity", entity_id=epic, metadata={"memory_scope": "project"})
    assert await shown(member, task) == {"epic_id": epic}
    assert await shown(member, task, as_of=hidden) == {}
    assert await shown(owner, task, as_of=hidden) == {"epic_id": epic}
