"""What a role in a project lets a member do, given directly or through a team."""

from typing import Any

import pytest

from stores.errors import Forbidden, NotFound
from stores.records import ProjectRole
from tests.people import Person
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio


async def test_members_read_an_open_project_and_its_contributors_write(owner: Person, member: Person) -> None:
    project = (await owner.call("create_entity", name="P", entity_type="project"))["id"]
    task = {"name": "T", "entity_type": "task", "metadata": {"project_id": project}}
    made = (await owner.call("create_entity", **task))["id"]
    source = await owner.call("ingest_documents", source_name="D", project=project, documents=[page("a.md")])
    assert (await member.call("get_entity", entity_id=made))["name"] == "T"
    writes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("create_entity", task),
        ("add", {"title": "T", "content": "c", "project": project}),
        ("create_entity", {"name": "newer", "related_to": [f"supersedes:{made}"]}),
        ("update_entity", {"entity_id": made, "content": "changed"}),
        ("ingest_documents", {"source_id": source["source_id"], "documents": [page("b.md")]}),
        ("delete_entity", {"entity_id": made}),
    )
    for operation, fields in writes:
        await member.refused(operation, Forbidden, match="You may read", **fields)
    total = (await owner.call("list_entities"))["total"]
    await member.call("create_entity", name="mine", metadata={"memory_scope": "private"}, related_to=[made])
    await in_thread(
        owner.app.ledger.project_members.add, owner.organization_id, project, member.user_id, "project_contributor"
    )
    for operation, fields in writes:
        await member.call(operation, **fields)
    assert (await owner.call("list_entities"))["total"] == total + 3, "with the chunk of the new document"


@pytest.mark.parametrize("role", ["project_contributor", "project_maintainer"])
async def test_maintainers_change_and_owners_delete_projects(owner: Person, member: Person, role: ProjectRole) -> None:
    project = (await owner.call("create_entity", name="P", entity_type="project"))["id"]
    add = owner.app.ledger.project_members.add
    await in_thread(add, owner.organization_id, project, member.user_id, role)
    fields: dict[str, Any] = {"entity_id": project, "name": "Q", "metadata": {"status": "archived"}}
    if role == "project_contributor":
        await member.refused("update_entity", Forbidden, match="needs the role project_maintainer", **fields)
        with pytest.raises(Forbidden, match="needs the role project_maintainer"):
            await member.call("create_entity", name="newer", related_to=[f"supersedes:{project}"])
    else:
        assert (await member.call("update_entity", **fields))["name"] == "Q"
    await member.refused("delete_entity", Forbidden, match="needs the role project_owner", entity_id=project)
    assert (await owner.call("get_entity", entity_id=project))["id"] == project
    await owner.call("delete_entity", entity_id=project)


async def test_the_creator_of_a_project_deletes_it_also_as_a_member(member: Person) -> None:
    project = (await member.call("create_entity", name="P", entity_type="project"))["id"]
    await member.call("update_entity", entity_id=project, name="Q")
    await member.call("delete_entity", entity_id=project)


async def test_roles_in_a_deleted_project_are_taken_away_and_no_new_ones_come(owner: Person, member: Person) -> None:
    project = (await owner.call("create_entity", name="P", entity_type="project", metadata={"visibility": "private"}))[
        "id"
    ]
    task = await owner.call("create_entity", name="T", entity_type="task", metadata={"project_id": project})
    whose = {"project_id": project, "user_id": member.user_id}
    await owner.call("add_project_member", **whose)
    await owner.call("delete_entity", entity_id=project)
    assert (await member.call("update_entity", entity_id=task["id"], name="U"))["name"] == "U"
    listed = await owner.call("list_project_members", project_id=project)
    assert [each["role"] for each in listed["members"]] == ["project_owner", "project_contributor"]
    assert listed["can_manage"]
    await owner.refused("change_project_member", NotFound, **whose, role="project_maintainer")
    await member.refused("remove_project_member", Forbidden, **whose)
    await owner.call("remove_project_member", **whose)
    for operation, fields in (("get_entity", {"entity_id": task["id"]}), ("list_project_members", whose)):
        await member.refused(operation, NotFound, **{key: fields[key] for key in fields if key != "user_id"})
    await owner.refused("add_project_member", NotFound, **whose)


def page(url: str) -> dict[str, str]:
    return {"url": url, "content": f"# About {url}"}
