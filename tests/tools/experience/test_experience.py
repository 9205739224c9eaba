"""Experiences are published whole, revised in place, and read by nobody who may not."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio.from_thread
import pytest

from auth.api_keys import KeyRequest, present_rights
from stores.credentials import AuthorizationCode, OAuthClient
from stores.errors import Conflict, Forbidden, NotFound, ValidationFailed
from stores.ledger import AuditDraft, TokenPair
from tests.people import Person, caught_up, host_of, worked
from tests.tools.experience.test_projections import parts, payload, step
from tests.tools.memory.test_memories import a_project
from tools.experience import publishing
from tools.experience.operations import record_experience
from tools.experience.payload import RecordExperienceRequest
from tools.experience.projections import notes
from tools.experience.publishing import DISTILL, EMBED
from tools.frame.operation import Call
from tools.frame.threads import in_thread
from tools.jobs.functions import RunningJob
from tools.jobs.runner import FUNCTIONS

pytestmark = pytest.mark.anyio

FAILING = step("o1", 0, action="Run deploy.sh", evidence=parts(1, "started\nError: quota of granite is exhausted\n"))
MENDING = step("o2", 1, action="Raise the granite quota", evidence=parts(1, "quota is 40 now"))


async def record(who: Person, project: str | None, *steps: Any, **fields: Any) -> dict[str, Any]:
    options = {name: fields.pop(name) for name in ("idempotency_key", "note_distillation") if name in fields}
    experience = payload(*steps, project_id=project, **fields)
    return (await who.run("record_experience", experience=experience, **options)).body()


def changes(receipt: dict[str, Any]) -> tuple[int, int, int, int]:
    names = ("written_entities", "written_relationships", "retired_entities", "retired_relationships")
    first, second, third, fourth = (receipt[name] for name in names)
    return first, second, third, fourth


async def run_jobs(who: Person) -> dict[str, dict[str, Any]]:
    """Run everything that is queued; return the results by function."""
    await worked(who.app, EMBED, DISTILL)
    jobs = await in_thread(who.app.ledger.jobs.page, who.organization_id, [*await keys(who)], None, 50, 0)
    return {job.function: job.result for job in reversed(jobs)}


async def keys(who: Person) -> frozenset[str]:
    return (await in_thread(who.app.accounts.authenticate, who.token)).visible


async def ids_of(who: Person, kind: str) -> set[str]:
    return {each["id"] for each in (await who.call("list_entities", entity_type=kind))["entities"]}


async def joined(owner: Person, who: Person, project: str, role: str = "project_contributor") -> None:
    await owner.call("add_project_member", project_id=project, user_id=who.user_id, role=role)


async def test_a_run_becomes_records_and_notes_that_cite_it(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await joined(owner, member, project)
    receipt = await record(member, project, FAILING, MENDING, outcome="It works now")
    assert changes(receipt) == (4, 5, 0, 0)
    manifest = receipt["entity_ids"][0]
    assert manifest == receipt["manifest_id"]
    jobs = receipt["background_jobs"]
    assert jobs["embedding_backfill"]["queued_entities"] == 4
    told = await member.call("job_status", job_ids=jobs["embedding_backfill"]["job_ids"])
    assert [each["status"] for each in told["jobs"].values()] == ["queued"]
    assert (await member.call("get_entity", entity_id=manifest))["metadata"]["state"] == "embedding_pending"
    results = await run_jobs(member)
    assert results["backfill_entity_embeddings"] == {"published": 1, "entities": 4}
    assert results["distill_operational_experience_notes"] == {"published": 2, "notes": 2}
    distilled = await member.call("get_job", job_id=jobs["note_distillation"]["job_ids"][0])
    assert distilled["progress"] == {"done": 2, "total": 2}
    shown = await member.call("get_entity", entity_id=manifest)
    assert (shown["metadata"]["state"], shown["metadata"]["outcome_verified"]) == ("complete", False)
    first, second = sorted(await ids_of(member, "note"))
    notes = {each: await member.call("get_entity", entity_id=each) for each in (first, second)}
    trouble = next(each for each in notes.values() if "Error: quota of granite" in each["content"])
    assert "Follows: after this trouble, next: Raise the granite quota" in trouble["content"]
    (cited,) = trouble["metadata"]["evidence"]
    evidence = {"source_id": "run-1", "observation_id": cited["observation_id"], "evidence_id": cited["evidence_id"]}
    part = await member.call("experience_evidence", **evidence)
    assert part["content"][cited["start"] : cited["end"]] == "Error: quota of granite is exhausted"
    assert any("reported outcome, not verified: It works now" in each["content"] for each in notes.values())
    assert await run_jobs(member) == results
    await caught_up(member)
    pack = await member.call("context", goal="granite quota exhausted", project=project, evidence={"limit": 4})
    types = [each["type"] for each in pack["evidence"]["results"]]
    assert {"session", "note"} == set(types)
    assert {item["type"] for section in pack["sections"] for item in section["items"]} >= {"session", "note"}
    plain = {"limit": 4, "reserve_distilled_notes": False}
    pack = await member.call("context", goal="granite quota exhausted", intent="review", evidence=plain)
    assert {each["type"] for each in pack["evidence"]["results"]} == {"session"}
    assert "verification" not in {section["facet"] for section in pack["sections"]}
    raw = await member.call("get_capture", capture_id=shown["metadata"]["raw_memory_id"])
    assert (raw["source_id"], raw["entity_id"], raw["principal_id"]) == ("run-1", manifest, member.user_id)


PYTHON = 'Traceback (most recent call last):\n  File "x.py", line 1\n    raise Stuck("failed")\nStuck: lamp\n'


@pytest.mark.parametrize(
    ("outputs", "status", "seen"),
    [
        ({"stdout": "1 error\n", "stderr": PYTHON}, 1, "“Stuck: lamp” [o1/stderr]; exit status 1"),
        (
            {"stderr": f"{PYTHON}\nZeroDivisionError: zero\nbye"},
            1,
            "“ZeroDivisionError: zero” [o1/stderr]; exit status 1",
        ),
        ({"stdout": "out\n"}, 7, "“out” [o1/stdout]; exit status 7"),
        ({"stdout": "out\n"}, 0, "“out” [o1/stdout]"),
    ],
)
async def test_a_note_says_the_last_error_and_the_exit_status(
    owner: Person, outputs: dict[str, str], status: int, seen: str
) -> None:
    evidence = [{"id": name, "content": content} for name, content in outputs.items()]
    await record(owner, await a_project(owner), step("o1", 0, evidence=evidence, metadata={"exit_code": status}))
    await run_jobs(owner)
    (note,) = await ids_of(owner, "note")
    assert f"\nSeen: {seen}\n" in (await owner.call("get_entity", entity_id=note))["content"]


async def test_others_see_nothing_of_it(owner: Person, member: Person, viewer: Person, stranger: Person) -> None:
    project = await a_project(owner)
    receipt = await record(owner, project, FAILING)
    await run_jobs(owner)
    for other in (member, viewer, stranger):
        for record_id in receipt["entity_ids"]:
            await other.refused("get_entity", NotFound, entity_id=record_id)
        assert not await ids_of(other, "note")
        await other.refused("experience_evidence", NotFound, source_id="run-1")
    job_ids = receipt["background_jobs"]["note_distillation"]["job_ids"]
    told = await member.call("job_status", job_ids=job_ids)
    assert {each["status"] for each in told["jobs"].values()} == {"not_found"}


async def test_a_revision_replaces_the_one_before(owner: Person) -> None:
    project = await a_project(owner)
    first = await record(owner, project, FAILING, MENDING)
    again = await record(owner, project, MENDING, FAILING)
    assert changes(again) == (0, 0, 0, 0)
    for name in ("content_hash", "entity_ids", "relationship_ids", "background_jobs"):
        assert again[name] == first[name]
    await run_jobs(owner)
    notes = await ids_of(owner, "note")
    short = await record(owner, project, MENDING, outcome="")
    manifest, _, session = short["entity_ids"]
    assert (manifest, changes(short)) == (first["manifest_id"], (3, 0, 3, 4)), "two notes are withdrawn"
    assert short["content_hash"] != first["content_hash"]
    gone = (set(first["entity_ids"]) - set(short["entity_ids"])).pop()
    for record_id in (gone, *notes):
        await owner.refused("get_entity", NotFound, entity_id=record_id)
    assert (await ids_of(owner, "session"), await ids_of(owner, "note")) == ({session}, set())
    await caught_up(owner)
    found = await owner.call("search", query="granite exhausted", types=["session", "note"])
    assert {hit["id"] for hit in found["results"]} == {session}
    assert (await owner.call("experience_evidence", source_id="run-1"))["experience"]["outcome"] == ""
    back = await record(owner, project, FAILING, MENDING)
    assert changes(back) == (4, 2, 0, 0)
    assert (back["content_hash"], back["entity_ids"]) == (first["content_hash"], first["entity_ids"])
    silent = (await record(owner, project, note_distillation=False))["background_jobs"]["note_distillation"]
    assert silent == {"status": "skipped", "job_ids": [], "queued_sources": 0, "error": None}


@pytest.mark.parametrize("way", ["capture", "memory", "manifest", "by a maintainer", "but its memory"])
async def test_whatever_is_deleted_nothing_else_is_left(owner: Person, member: Person, way: str) -> None:
    project = await a_project(owner)
    await joined(owner, member, project)
    manifest = (await record(member, project, FAILING, MENDING))["manifest_id"]
    await run_jobs(member)
    await record(member, project, MENDING)
    await run_jobs(member)
    raw = (await owner.call("get_entity", entity_id=manifest))["metadata"]["raw_memory_id"]
    who, is_kept = owner if way == "by a maintainer" else member, way == "but its memory"
    if way == "capture":
        await who.call("erase_capture", capture_id=raw)
    elif way == "memory":
        assert await who.call("delete_entity", entity_id=raw) == {"deleted": [raw], "kept": []}
    else:
        deleted = (await who.call("delete_entity", entity_id=manifest, keep_memory=is_kept))["deleted"]
        assert deleted == [manifest, *([] if is_kept else [raw])]
    left = await in_thread(owner.app.ledger.records.revisions, owner.organization_id)
    assert set(left) == {project, *([raw] if is_kept else [])}
    await caught_up(member)
    assert (await member.call("search", query="granite", types=["session", "note", "procedure"]))["results"] == []
    assert changes(await record(member, project, FAILING, MENDING)) == (4, 5, 0, 0)
    assert (await member.call("get_capture", capture_id=raw))["entity_id"] == manifest


@pytest.mark.parametrize("action", ["wrong", "hide", "redact"])
async def test_what_was_corrected_is_not_published_again_until_it_is_restored(
    owner: Person, member: Person, action: str
) -> None:
    project = await a_project(owner)
    await joined(owner, member, project)
    made = await record(member, project, FAILING, MENDING)
    memory = publishing.memory_id_of(made["manifest_id"])
    assert (await owner.call("correct_memory", source_id=memory, action=action, reason="r"))["applied"]
    assert (await run_jobs(member))[DISTILL] == {"published": 0}
    for steps in ((FAILING, MENDING), (FAILING,)):
        with pytest.raises(Conflict, match="corrected"):
            await record(member, project, *steps)
    for each in made["entity_ids"]:
        with pytest.raises(NotFound):
            await member.call("get_entity", entity_id=each)
    if action == "wrong":
        with pytest.raises(Conflict, match="marked wrong"):
            await record(member, project, FAILING, MENDING, source_id="run-2")
    if action != "redact":
        assert (await owner.call("correct_memory", source_id=memory, action="restore", reason="r"))["applied"]
        assert (await record(member, project, FAILING, MENDING))["entity_ids"] == made["entity_ids"]
        assert (await member.call("get_entity", entity_id=made["manifest_id"]))["id"] == made["manifest_id"]


async def test_sending_it_again_undoes_every_change_of_its_records(owner: Person) -> None:
    project = await a_project(owner)
    made = await record(owner, project, FAILING, MENDING)
    await run_jobs(owner)
    manifest, procedure, first, second = made["entity_ids"]
    note, other = sorted(await ids_of(owner, "note"))

    async def shown() -> list[Any]:
        names = ("name", "description", "content", "tags", "metadata", "memory_scope", "project_id")
        found = [await owner.call("get_entity", entity_id=each) for each in (*made["entity_ids"], note, other)]
        return [each.get(name) for each in found for name in names]

    before = await shown()
    for record_id in (manifest, first, note):
        await owner.call("update_entity", entity_id=record_id, name="Forged", content="granite is fine", tags=["t"])
    await owner.call("update_entity", entity_id=procedure, metadata={"project_id": None, "memory_scope": "private"})
    await owner.call("update_entity", entity_id=second, description="d", metadata={"own": 1})
    await owner.call("delete_entity", entity_id=other)
    (ended, *_) = made["relationship_ids"]
    await owner.call("end_relation", relation_id=ended)
    again = await record(owner, project, FAILING, MENDING)
    assert (again["entity_ids"], again["content_hash"]) == (made["entity_ids"], made["content_hash"])
    assert ended not in again["relationship_ids"]
    await run_jobs(owner)
    assert await shown() == before
    assert changes(await record(owner, project, FAILING, MENDING)) == (0, 0, 0, 0)


@pytest.mark.parametrize("function", [DISTILL, EMBED])
async def test_a_running_job_that_is_cancelled_publishes_nothing_more(
    owner: Person, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    made = await record(owner, await a_project(owner), FAILING)
    (job_id,) = [each["job_id"] for each in (await owner.call("list_jobs"))["jobs"] if each["function"] == function]

    async def cancel(*_: Any) -> list[str]:
        assert (await owner.call("cancel_job", job_id=job_id))["status"] == "cancelled"
        return []

    monkeypatch.setattr(publishing, "notes", lambda *given: (anyio.from_thread.run(cancel), notes(*given))[1])
    monkeypatch.setattr(owner.app.indexer, "applied_within", cancel)
    await worked(owner.app, function)
    told = await owner.call("get_job", job_id=job_id)
    assert (told["status"], told["attempts"], told["result"]) == ("cancelled", 1, None)
    assert not await ids_of(owner, "note")
    assert (await owner.call("get_entity", entity_id=made["manifest_id"]))["metadata"]["state"] == "embedding_pending"


async def test_its_records_are_changed_by_its_author_and_maintainers_alone(owner: Person, member: Person) -> None:
    project = await a_project(owner)
    await joined(owner, member, project)
    made = await record(owner, project)
    for name, fields in (("update_entity", {"content": "Forged"}), ("delete_entity", {})):
        await member.refused(name, Forbidden, match="project_access_denied", entity_id=made["entity_ids"][2], **fields)
    procedure = made["entity_ids"][1]
    wrong = [("manifest_id", "no"), ("raw_memory_id", "no"), ("outcome_verified", True), ("status", "verified")]
    for name, value in (*wrong, ("status", None)):
        forged = {"entity_id": procedure, "metadata": {name: value}}
        assert (await owner.refused("update_entity", ValidationFailed, **forged)).details["field"].endswith(name)
    metadata = {"outcome_verified": False, "own": 1, "status": "archived"}
    await owner.call("update_entity", entity_id=procedure, metadata=metadata)
    assert metadata.items() <= (await owner.call("get_entity", entity_id=procedure))["metadata"].items()


async def test_who_may_publish(owner: Person, member: Person, viewer: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    project, other = await a_project(owner), await a_project(owner)
    await joined(owner, member, other)
    with pytest.raises(Forbidden, match="but not write in it"):
        await record(member, project)
    with pytest.raises(Forbidden, match="Viewer"):
        await record(viewer, project)
    with pytest.raises(NotFound, match="project_none"):
        await record(owner, "project_none")
    with pytest.raises(ValidationFailed, match="requires a project_id"):
        await record(owner, None)
    assert (await owner.call("list_captures"))["total"] == 0
    made = await record(owner, project)
    with pytest.raises(Conflict, match="already bound to another project"):
        await record(member, other)
    await joined(owner, member, project)
    with pytest.raises(Forbidden, match="project_access_denied"):
        await record(member, project, goal="Mine")
    await owner.call("change_project_member", project_id=project, user_id=member.user_id, role="project_maintainer")
    revised = await record(member, project, goal="Ours")
    assert (revised["manifest_id"], changes(revised)[0]) == (made["manifest_id"], 2)
    (raw,) = (await owner.call("list_captures"))["captures"]
    assert (raw["principal_id"], raw["title"], raw["revision"]) == (owner.user_id, "Ours", 2)
    # As if the source had been new when the request came.
    monkeypatch.setattr(owner.app.ledger.memories, "memory", lambda *_: None)
    with pytest.raises(Conflict, match="being worked on"):
        await record(owner, project, goal="Busy")


def granted(who: Person) -> str:
    """Let an MCP client act for somebody; return the id of the grant."""
    grants, now, until, name = who.app.ledger.grants, who.app.clock(), who.app.clock() + timedelta(hours=1), who.user_id
    grants.add_client(OAuthClient(name, None, {}, now, now))
    grants.add_code(name, AuthorizationCode(name, name, who.organization_id, "", True, "x", None, (), until))
    grants.redeem_code(name, name, TokenPair(f"a{name}", until, f"r{name}", until, ()))
    return name


@pytest.mark.parametrize("reason", ["member", "role", "key", "grant", "newer"])
async def test_a_job_that_lost_its_right_publishes_nothing(owner: Person, member: Person, reason: str) -> None:
    project = await a_project(owner)
    await joined(owner, member, project, "project_maintainer")
    sender = await in_thread(member.app.accounts.authenticate, member.token)
    if reason == "key":
        wanted = KeyRequest("k", True, ["api:write"], [], None)
        made, text = await in_thread(member.app.accounts.keys.create, sender, wanted, AuditDraft("k", None, None))
        sender = await in_thread(member.app.accounts.authenticate, text)
    elif reason == "grant":
        sender = replace(sender, grant_id=await in_thread(granted, member))
    request = RecordExperienceRequest.model_validate({"experience": payload(FAILING, project_id=project)})
    await record_experience(member.app, Call(sender), request)
    if reason == "member":
        await owner.call("remove_member", org_slug=member.signed.identity.organization.slug, user_id=member.user_id)
    elif reason == "role":
        await owner.call("remove_project_member", project_id=project, user_id=member.user_id)
    elif reason == "key":
        await member.call("revoke_api_key", key_id=made.id)
    elif reason == "grant":
        (job, *_) = member.app.ledger.jobs.page(member.organization_id, await keys(member), None, 1, 0)
        assert present_rights(member.app.ledger, member.app.clock, job, sender.grant_id)
        await in_thread(member.app.ledger.grants.revoke, member.user_id, sender.grant_id)
    else:
        jobs = member.app.ledger.jobs.take("old", [EMBED, DISTILL], 9)
        await record(owner, project, MENDING, note_distillation=False)
        for job in jobs:
            begun = FUNCTIONS[job.function].run(host_of(member.app), RunningJob(job, member.app.ledger))
            assert (begun if isinstance(begun, dict) else await begun) == {"published": 0}
    if reason != "newer":
        results = await run_jobs(owner)
        assert [each["published"] for each in results.values()] == [0, 0]
    assert not await ids_of(owner, "note")
    manifest = (await owner.call("experience_evidence", source_id="run-1"))["manifest_id"]
    assert (await owner.call("get_entity", entity_id=manifest))["metadata"]["state"] == "embedding_pending"
