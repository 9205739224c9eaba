"""A document that is kept: once, for whom its sources are, and never as a source of another by itself."""

import pytest

from stores.errors import EngrainError, Forbidden, InvalidRequest
from tests.people import Person, caught_up, person
from tests.tools.synthesis.world import GOAL, all_sources, draft, gaps, keep, plan, world
from tests.tools.test_answers import asked

pytestmark = pytest.mark.anyio


async def test_a_document_is_kept_with_where_it_comes_from(owner: Person) -> None:
    await world(owner)
    run = await draft(owner, remember=True, tags=["harbour", "synthesis"])
    artifact = run["artifact"]
    assert artifact["remembered_source_id"] == f"{artifact['artifact_id']}:generated"
    kept = await owner.call("get_capture", capture_id=artifact["remembered_memory_id"])
    assert kept["raw_content"] == artifact["markdown"]
    assert kept["source_id"] == artifact["remembered_source_id"]
    assert (kept["title"], kept["memory_scope"]) == (run["outline"]["title"], "private")
    assert kept["tags"] == ["synthesis", "documentation", "harbour"]
    assert kept["provenance"]["derived_from"] == artifact["source_ids"]
    assert kept["metadata"]["run_id"] == run["run_id"]
    assert kept["metadata"]["verification"] == "pass"
    await caught_up(owner)
    recalled = await owner.call("recall", query=GOAL)
    assert recalled["memories"][0]["id"] == artifact["remembered_memory_id"]


async def test_the_same_document_is_kept_once(owner: Person) -> None:
    ids = await world(owner)
    first, second = [(await draft(owner, remember=True))["artifact"] for _ in range(2)]
    assert first == second
    assert (await owner.call("list_captures"))["total"] == 1
    await owner.call("update_entity", entity_id=ids["rule"], content="A card's number is never written down.")
    await caught_up(owner)
    third = (await draft(owner, remember=True))["artifact"]
    assert third["remembered_memory_id"] != first["remembered_memory_id"]
    assert third["artifact_id"].rpartition(":")[0] == first["artifact_id"].rpartition(":")[0]


async def test_no_document_feeds_on_another_by_itself(owner: Person) -> None:
    await world(owner)
    artifact = (await draft(owner, remember=True))["artifact"]
    memory = artifact["remembered_memory_id"]
    derived = await keep(owner, GOAL, "decision", GOAL, metadata={"raw_memory_id": memory})
    await caught_up(owner)
    run = await plan(owner)
    assert not {memory, derived} & all_sources(run)
    assert sum(pack["hidden_count"] for pack in run["source_packs"] if pack["title"] == "Key Decisions") == 1
    for named in (memory, artifact["artifact_id"], artifact["remembered_source_id"]):
        assert memory in all_sources(await plan(owner, artifact_ids=[named]))
    assert gaps(await plan(owner, entity_ids=[memory])) == [("required_source_ids_not_found", [memory])]


async def test_the_scope_of_a_project_needs_its_key(owner: Person) -> None:
    for remember in (False, True):
        with pytest.raises(InvalidRequest) as refused:
            await draft(owner, remember=remember, memory_scope="project")
        assert (refused.value.code, refused.value.message) == ("missing_scope_key", "missing_scope_key")
        assert refused.value.remediation


async def test_a_document_of_a_project_is_for_its_members(owner: Person, member: Person) -> None:
    await world(owner)
    project = await keep(owner, "P", "project")
    run = await draft(owner, project=project, remember=True, memory_scope="project")
    artifact = run["artifact"]
    assert artifact["remembered_scope"] == "project"
    capture = artifact["remembered_memory_id"]
    await member.refused("get_capture", EngrainError, capture_id=capture)
    await owner.call("add_project_member", project_id=project, user_id=member.user_id)
    assert (await member.call("get_capture", capture_id=capture))["scope_key"] == project
    with pytest.raises(Forbidden, match="project_access_denied"):
        await draft(owner, remember=True, memory_scope="project", scope_key="project_000000000000")


async def test_what_not_everybody_may_read_is_kept_for_the_author_alone(owner: Person) -> None:
    await world(owner)
    project = await keep(owner, "P", "project")
    await keep(owner, "Charge nobody", "decision", GOAL, metadata={"memory_scope": "private"})
    await caught_up(owner)
    asking = {"goal": GOAL, "project": project, "remember": True}
    told, _ = await asked(owner, "synthesis_draft", **asking, memory_scope="project")
    assert told["kept"]["why"] == "private, because not everybody in the project may read all of its sources"
    assert told["readable_by"].startswith("private: only you; to share its words, remember them")
    assert "why" not in (await asked(owner, "synthesis_draft", **asking))[0]["kept"]
    artifact = (await draft(owner, project=project, remember=True, memory_scope="project"))["artifact"]
    assert artifact["remembered_scope"] == "private"
    kept = await owner.call("get_capture", capture_id=artifact["remembered_memory_id"])
    assert kept["memory_scope"] == "private"


async def test_only_members_may_keep_a_document(owner: Person, viewer: Person) -> None:
    await world(owner)
    assert (await draft(viewer))["status"] == "verified"
    with pytest.raises(Forbidden, match="Viewer"):
        await draft(viewer, remember=True)


async def test_a_contributor_is_needed_to_keep_it_in_a_project(owner: Person) -> None:
    await world(owner)
    project = await keep(owner, "P", "project")
    reader = await person(owner.app, "reader", of=owner, role="member")
    fields = {"project": project, "remember": True, "memory_scope": "project"}
    with pytest.raises(Forbidden):
        await draft(reader, **fields)
    await owner.call("add_project_member", project_id=project, user_id=reader.user_id, role="project_viewer")
    with pytest.raises(Forbidden, match="not add to them"):
        await draft(reader, **fields)


async def test_keeping_a_document_is_in_the_audit_log(owner: Person) -> None:
    await world(owner)
    project = await keep(owner, "P", "project")
    artifact = (await draft(owner, project=project, remember=True, memory_scope="project"))["artifact"]
    entries = (await owner.call("read_audit"))["entries"]
    kept = [each for each in entries if each["action"] == "memory.remember"]
    assert [each["target"] for each in kept] == [artifact["remembered_memory_id"]]
