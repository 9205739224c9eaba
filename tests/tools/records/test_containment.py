"""Relations that an entity's own fields state: made, ended and guarded with the field."""

from typing import Any

import pytest

from stores.errors import EngrainError, InvalidRequest, NotFound, ValidationFailed
from stores.records import Relation
from tests.people import Person, caught_up
from tests.stores.ledger.samples import relations_of
from tests.tools.test_record_scopes import field_of

pytestmark = pytest.mark.anyio

PRIVATE = {"memory_scope": "private"}


async def made(person: Person, name: str, entity_type: str = "task", **metadata: Any) -> str:
    fields = {"name": name, "entity_type": entity_type, "metadata": metadata}
    return str((await person.call("create_entity", **fields))["id"])


def stated(person: Person, entity_id: str, *, history: bool = False) -> list[Relation]:
    found = relations_of(person.app.ledger, person.organization_id, entity_id, history=history)
    return [each for each in found if each.source_id == entity_id]


def said(relations: list[Relation]) -> set[tuple[str, str]]:
    return {(each.name, each.target_id) for each in relations}


async def test_each_field_states_a_relation_and_says_so(owner: Person) -> None:
    project = await made(owner, "Sea", "project")
    epic = await made(owner, "Tide", "epic", project_id=project)
    parent = await made(owner, "parent", project_id=project)
    first = await made(owner, "first")
    task = await made(owner, "t", project_id=project, epic_id=epic, parent_task_id=parent, depends_on=[first, epic])
    facts = (await owner.call("list_relations", entity_id=task, direction="outgoing"))["relations"]
    assert {(each["name"], each["target_id"], each["fact"], each["provenance"]["from"]) for each in facts} == {
        ("BELONGS_TO", project, "t belongs to Sea", "metadata.project_id"),
        ("PART_OF", epic, "t is part of Tide", "metadata.epic_id"),
        ("CHILD_OF", parent, "t is a child of parent", "metadata.parent_task_id"),
        ("DEPENDS_ON", first, "t depends on first", "metadata.depends_on"),
        ("DEPENDS_ON", epic, "t depends on Tide", "metadata.depends_on"),
    }
    assert said(stated(owner, epic)) == {("BELONGS_TO", project)}
    await caught_up(owner)
    found = await owner.call("explore", mode="dependencies", entity_id=task)
    assert {each["id"] for each in found["entities"]} == {first, epic}


async def test_a_task_outlives_its_project_and_epic_and_can_be_changed(owner: Person) -> None:
    project, epic = await made(owner, "Sea", "project"), await made(owner, "Tide", "epic")
    task = await made(owner, "t", project_id=project, epic_id=epic)
    for gone in (epic, project):
        await owner.call("delete_entity", entity_id=gone)
    assert stated(owner, task, history=True) == []
    await owner.call("update_entity", entity_id=task, metadata={"status": "doing"})
    await owner.call("update_entity", entity_id=task, metadata={"epic_id": None})
    await caught_up(owner)


async def test_a_field_names_what_is_there_and_of_the_right_type(owner: Person, member: Person) -> None:
    task, epic = await made(owner, "t"), await made(owner, "e", "epic")
    hidden = await made(owner, "h", "epic", **PRIVATE)
    wrong: list[tuple[dict[str, Any], type[EngrainError], str]] = [
        ({"epic_id": "nowhere"}, NotFound, "body.metadata.epic_id"),
        ({"epic_id": hidden}, NotFound, "body.metadata.epic_id"),
        ({"epic_id": task}, InvalidRequest, "body.metadata.epic_id"),
        ({"parent_task_id": epic}, InvalidRequest, "body.metadata.parent_task_id"),
        ({"parent_task_id": 7}, ValidationFailed, "body.metadata.parent_task_id"),
        ({"depends_on": "t"}, ValidationFailed, "body.metadata.depends_on"),
        ({"depends_on": [""]}, ValidationFailed, "body.metadata.depends_on"),
        ({"depends_on": [task] * 101}, ValidationFailed, "body.metadata.depends_on"),
        ({"depends_on": [task, "nowhere"]}, NotFound, "body.metadata.depends_on"),
    ]
    mine = await made(member, "mine")
    head = owner.app.ledger.feed.head(owner.organization_id)
    for metadata, error, field in wrong:
        for operation, fields in (
            ("create_entity", {"name": "x", "entity_type": "task"}),
            ("update_entity", {"entity_id": mine}),
        ):
            refused = await member.refused(operation, error, **fields, metadata=metadata)
            assert field_of(refused) == field, metadata
    assert owner.app.ledger.feed.head(owner.organization_id) == head, "nothing is half-stored"
    plain = await made(member, "n", "note", depends_on=["numpy>=2"], epic_id="of another system")
    assert stated(owner, plain) == [], "these are fields of tasks and epics alone"


@pytest.mark.parametrize("field", ["depends_on", "parent_task_id"])
async def test_a_circle_is_refused_with_the_way_round(owner: Person, field: str) -> None:
    def naming(target: str) -> dict[str, Any]:
        return {field: [target] if field == "depends_on" else target}

    a = await made(owner, "a")
    b = await made(owner, "b", **naming(a))
    c = await made(owner, "c", **naming(b))
    for start, target, way in ((a, c, [a, c, b, a]), (a, a, [a, a])):
        refused = await owner.refused("update_entity", InvalidRequest, entity_id=start, metadata=naming(target))
        assert (refused.code, " -> ".join(way) in refused.message) == ("invalid_request", True)
    assert stated(owner, a, history=True) == []
    await owner.call("update_entity", entity_id=b, metadata={field: None})
    await owner.call("update_entity", entity_id=a, metadata=naming(c))


async def test_a_way_round_through_what_is_hidden_is_not_told(owner: Person, member: Person) -> None:
    a = await made(owner, "a")
    b = await made(owner, "b", depends_on=[a], **PRIVATE)
    c = await made(member, "c")
    await owner.call("update_entity", entity_id=c, metadata={"depends_on": [b]})
    await member.call("update_entity", entity_id=a, metadata={"depends_on": [c]})
    await owner.refused("update_entity", InvalidRequest, entity_id=a, metadata={"depends_on": [c, b]})


async def test_what_is_added_with_dependencies_states_them_in_its_field(owner: Person) -> None:
    first = await made(owner, "first")
    task = await owner.call("add", title="t", content="t", entity_type="task", depends_on=[first], skip_conflicts=True)
    assert task["entity"]["metadata"]["depends_on"] == [first]
    assert [each.provenance for each in stated(owner, task["id"])] == [{"from": "metadata.depends_on"}]
    note = await owner.call("add", title="n", content="n", entity_type="note", depends_on=[first], skip_conflicts=True)
    assert [each.provenance for each in stated(owner, note["id"])] == [{"from": "related_to"}]


async def test_a_source_belongs_to_its_project_and_its_chunks_do_not(owner: Person) -> None:
    project = await made(owner, "Sea", "project")
    page = [{"url": "u", "content": "walrus"}]
    source = await owner.call("ingest_documents", source_name="S", documents=page, project=project, sync=True)
    assert said(stated(owner, source["source_id"])) == {("BELONGS_TO", project)}
    assert len(relations_of(owner.app.ledger, owner.organization_id, project)) == 1
    await owner.call(
        "update_entity", entity_id=source["source_id"], metadata={"project_id": None, "memory_scope": "organization"}
    )
    assert relations_of(owner.app.ledger, owner.organization_id, project) == []
    await caught_up(owner)


async def test_who_may_read_a_stated_relation_follows_its_ends(owner: Person, member: Person) -> None:
    epic = await made(member, "e", "epic")
    task = await made(owner, "t", epic_id=epic)
    for scope, seen in (("private", set[str]()), ("organization", {task})):
        await owner.call("update_entity", entity_id=task, metadata={"memory_scope": scope})
        await caught_up(owner)
        assert {each["id"] for each in (await member.call("get_entity", entity_id=epic))["related"]} == seen
        walked = await member.call("explore", mode="related", entity_id=epic)
        assert {each["id"] for each in walked["entities"]} == seen
