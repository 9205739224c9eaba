"""Who may read a record is said by metadata of the right type, or not at all: nothing is guessed open."""

from typing import Any

import pytest

from stores.errors import EngrainError, Forbidden, InvalidRequest, NotFound, ValidationFailed
from tests.people import Person

pytestmark = pytest.mark.anyio

NO_TEXTS: tuple[Any, ...] = (
    5, 0, "", False, True, 1.5, [], ["project_000000000000"], {}, {"id": "project_000000000000"},
)  # fmt: skip


async def project_and_record(person: Person) -> tuple[str, str]:
    hidden = {"visibility": "private"}
    project = (await person.call("create_entity", name="P", entity_type="project", metadata=hidden))["id"]
    return project, (await person.call("create_entity", name="r", metadata={"project_id": project}))["id"]


def field_of(error: EngrainError) -> object:
    return error.details.get("field")


@pytest.mark.parametrize("value", NO_TEXTS, ids=repr)
async def test_what_is_no_project_id_is_refused_and_opens_nothing(owner: Person, member: Person, value: Any) -> None:
    _, record = await project_and_record(member)
    writes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("update_entity", {"entity_id": record, "metadata": {"project_id": value}}),
        ("create_entity", {"name": "leak", "metadata": {"project_id": value}}),
        ("create_entity", {"name": "leak", "entity_type": "task", "metadata": {"project_id": value}}),
        ("bulk_create_entities", {"entities": [{"name": "leak", "metadata": {"project_id": value}}]}),
        ("add", {"title": "leak", "content": "leak", "metadata": {"project_id": value}}),
    )
    for operation, fields in writes:
        refused = await member.refused(operation, ValidationFailed, match="project_id", **fields)
        assert field_of(refused) == "body.metadata.project_id"
    read = await member.call("get_entity", entity_id=record)
    assert (read["revision"], read["metadata"]["memory_scope"]) == (1, "project")
    assert (await member.call("list_entities"))["total"] == 2


@pytest.mark.parametrize("value", [each for each in NO_TEXTS if each != ""] + ["", "Private", "nobody"], ids=repr)
async def test_what_is_no_memory_scope_is_refused_and_opens_nothing(member: Person, value: Any) -> None:
    record = (await member.call("create_entity", name="r", metadata={"memory_scope": "private"}))["id"]
    for operation, fields in (
        ("update_entity", {"entity_id": record}),
        ("create_entity", {"name": "leak"}),
        ("create_entity", {"name": "leak", "entity_type": "project"}),
    ):
        refused = await member.refused(operation, ValidationFailed, **fields, metadata={"memory_scope": value})
        assert field_of(refused) == "body.metadata.memory_scope"
    assert (await member.call("get_entity", entity_id=record))["metadata"]["memory_scope"] == "private"


@pytest.mark.parametrize("value", [None, 5, "", False, ["private"], {"is": "private"}, "Private"], ids=repr)
async def test_what_is_no_visibility_of_a_project_is_refused(member: Person, value: Any) -> None:
    project, _ = await project_and_record(member)
    for operation, fields in (
        ("update_entity", {"entity_id": project}),
        ("create_entity", {"name": "leak", "entity_type": "project"}),
    ):
        refused = await member.refused(operation, ValidationFailed, **fields, metadata={"visibility": value})
        assert field_of(refused) == "body.metadata.visibility"
    assert (await member.call("get_entity", entity_id=project))["metadata"]["visibility"] == "private"


@pytest.mark.parametrize("value", [5, "", False, ["epic_000000000000"], {}], ids=repr)
async def test_what_is_no_epics_id_is_refused_for_tasks(owner: Person, value: Any) -> None:
    task = (await owner.call("create_entity", name="t", entity_type="task"))["id"]
    for operation, fields in (
        ("update_entity", {"entity_id": task}),
        ("create_entity", {"name": "t", "entity_type": "task"}),
    ):
        refused = await owner.refused(operation, ValidationFailed, **fields, metadata={"epic_id": value})
        assert field_of(refused) == "body.metadata.epic_id"
    await owner.call("update_entity", entity_id=task, metadata={"epic_id": None})


async def test_who_leaves_a_project_says_who_may_read_the_record_then(owner: Person, member: Person) -> None:
    project, record = await project_and_record(owner)
    with pytest.raises(ValidationFailed, match="memory_scope") as refused:
        await owner.call("update_entity", entity_id=record, metadata={"project_id": None})
    assert field_of(refused.value) == "body.metadata.memory_scope"
    with pytest.raises(InvalidRequest, match="missing_scope_key"):
        await owner.call("update_entity", entity_id=record, metadata={"project_id": None, "memory_scope": "project"})
    await member.refused("get_entity", NotFound, entity_id=record)
    left = await owner.call("update_entity", entity_id=record, metadata={"project_id": None, "memory_scope": "private"})
    assert (left["metadata"]["memory_scope"], left["metadata"]["project_id"]) == ("private", None)
    back = await owner.call("update_entity", entity_id=record, metadata={"project_id": project})
    assert back["metadata"]["memory_scope"] == "private"
    left = await owner.call("update_entity", entity_id=record, metadata={"project_id": None})
    assert left["metadata"]["memory_scope"] == "private"
    await member.refused("get_entity", NotFound, entity_id=record)
    await owner.call("update_entity", entity_id=record, metadata={"memory_scope": "organization"})
    assert (await member.call("get_entity", entity_id=record))["name"] == "r"


async def test_only_author_and_admins_take_a_record_out_of_its_project(owner: Person, member: Person) -> None:
    project = (await member.call("create_entity", name="P", entity_type="project"))["id"]
    record = (await owner.call("create_entity", name="r", metadata={"project_id": project}))["id"]
    await member.refused(
        "update_entity", Forbidden, match="author", entity_id=record,
        metadata={"project_id": None, "memory_scope": "organization"},
    )  # fmt: skip
