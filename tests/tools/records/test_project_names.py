"""Every operation takes a project by id, unique name or slug; unknown and unreadable ones answer alike."""

from typing import Any

import pytest

from stores.errors import EngrainError, Forbidden, InvalidRequest, NotFound
from tests.people import Person
from tools.catalogue import OPERATIONS, by_name
from tools.frame.operation import Operation
from tools.records.projects import FIELDS

pytestmark = pytest.mark.anyio

NAMING = [each for each in OPERATIONS if set(FIELDS) & each.request.model_fields.keys() and each.roles]
OWN: dict[str, type[EngrainError]] = {
    "synthesis_plan": Forbidden, "synthesis_verify": Forbidden, "synthesis_draft": Forbidden,
    "synthesis_handbook": Forbidden, "create_api_key": InvalidRequest,
}  # fmt: skip
REQUIRED: dict[str, Any] = {
    "query": "q", "goal": "g", "title": "t", "content": "c", "name": "n", "entity_id": "e", "entity_ids": ["e"],
    "user_id": "u", "team_id": "t", "candidate_id": "c", "source_name": "s", "raw_content": "r", "source_id": "s",
    "url": "https://x.invalid/", "source_ids": ["s"], "target_scope": "organization",
    "documents": [{"content": "d", "title": "t", "url": "u"}], "role": "project_viewer",
}  # fmt: skip


async def project(person: Person, name: str, **metadata: Any) -> str:
    made = await person.call("create_entity", name=name, entity_type="project", metadata=metadata)
    return str(made["id"])


@pytest.mark.parametrize("operation", NAMING, ids=lambda each: each.name)
async def test_unknown_and_unreadable_projects_answer_alike(
    operation: Operation, owner: Person, viewer: Person, member: Person
) -> None:
    [field] = set(FIELDS[:2]) & operation.request.model_fields.keys() or {"project_ids"}
    hidden = await project(owner, "Bilding secret", visibility="private")
    shown = await project(owner, "Billing Service")
    fields = operation.request.model_fields
    more = {name: REQUIRED[name] for name, each in fields.items() if each.is_required() and name != field}
    person = owner if "member" not in operation.roles or operation.name in OWN else member
    said = []
    for unknown in ("Billing servise", *([] if person is owner else [hidden, "Bilding secret"])):
        value = [unknown] if "list" in str(fields[field].annotation) else unknown
        error = await person.refused(operation.name, OWN.get(operation.name, NotFound), **{**more, field: value})
        assert "Bilding" not in str(error.details.get("nearest", "")) or person is owner
        said.append((error.code, error.message.replace(unknown, "?")))
        if unknown == "Billing servise":
            assert {"id": shown, "name": "Billing Service"} in error.details["nearest"]
            assert shown in error.remediation
    assert len(set(said)) == 1


@pytest.mark.parametrize("operation", ["search", "recall", "remember", "store_raw_memory", "reflect"])
async def test_a_scope_key_that_is_no_readable_project_answers_as_a_project(
    operation: str, owner: Person, member: Person
) -> None:
    hidden, shown = await project(owner, "Bilding", visibility="private"), await project(owner, "Billing")
    fields = by_name[operation].request.model_fields
    given = {name: REQUIRED[name] for name, each in fields.items() if each.is_required()}
    for key in (hidden, "Biling", "Bilding"):
        error = await member.refused(operation, NotFound, **given, memory_scope="project", scope_key=key)
        assert (error.code, error.message) == ("not_found", f"There is no project {key}.")
        assert error.details.get("nearest", []) == ([] if key == hidden else [{"id": shown, "name": "Billing"}])
    error = await member.refused(operation, Forbidden, **given, memory_scope="project", scope_key="Billing")
    assert error.word == "unverified_membership", "its memories are for those who have a role in it"


async def test_a_project_is_taken_by_name_and_slug(owner: Person, member: Person) -> None:
    here = await project(owner, "Billing Service", slug="bill")
    await project(owner, "Other")
    note = await owner.call("add", title="Retry", content="Retry twice.", project="billing service")
    assert note["entity"]["metadata"]["project_id"] == here
    made = await owner.call("create_entity", name="n", metadata={"project_id": "bill"})
    assert made["metadata"]["project_id"] == here
    for name in (here, here.upper(), "Billing Service", " BILLING service ", "bill"):
        found = await member.call("explore", types=["episode"], project=name)
        assert {each["id"] for each in found["entities"]} == {note["id"], made["id"]}, name
        assert (await member.call("list_entities", project_ids=f"{name},other"))["total"] == 2
        assert (await member.call("search", query="retry", project=name))["filters"]["project"] == here
        assert (await member.call("context", goal="retry", project=name))["project"] == here
        assert (await member.call("project_metrics", project_id=name))["metrics"]["project_id"] == here
        assert (await member.call("manage", action="prioritize", entity_id=name))["success"]


async def test_a_name_of_two_projects_is_none_and_both_are_named(owner: Person) -> None:
    two = {await project(owner, "Twin"), await project(owner, "twin")}
    error = await owner.refused("explore", NotFound, project="TWIN")
    assert {each["id"] for each in error.details["nearest"]} == two
