"""Exports over the catalogue: all that one may read once, and the same again after an import elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.exporting import json_lines
from stores.errors import InvalidRequest, NotFound, ValidationFailed
from tests.people import Person, person
from tools.imports.adapters import ADAPTERS, batches, recognised
from tools.imports.files import open_source

pytestmark = pytest.mark.anyio

WORDS = st.text("abc äöü\n\"'#[]|-:,€", min_size=1, max_size=40).filter(lambda text: bool(text.strip()))
LABELS = st.lists(st.sampled_from(("Go", "Rust", "später", "a,b")), unique=True, max_size=2)
TYPES = st.sampled_from(("note", "decision", "pattern", "rule", "session", "preference"))
STATES = st.sampled_from(("todo", "doing", "blocked", "review", "done", "archived"))
VOLATILE = ("author", "author_id", "created_at", "updated_at", "expired_at")
Line = dict[str, Any]


async def exported(who: Person, limit: int = 500, **more: Any) -> list[Line]:
    lines: list[Line] = []
    cursor = None
    while not lines or cursor:
        page = await who.call("export_records", limit=limit, **({"cursor": cursor} if cursor else {}), **more)
        lines, cursor = lines + page["lines"], page["next_cursor"]
    return lines


async def imported(who: Person, lines: list[Line], path: Path, **target: Any) -> Line:
    json_lines(path, [lines])
    source, adapter = open_source(path), ADAPTERS["engrain"]
    assert recognised(source) is adapter
    begun = await who.call("start_import", source_uri=path.as_uri(), adapter_name="engrain", **target)
    for batch in batches(adapter, source, {}, most=5):
        begun = await who.call("keep_import_records", import_id=begun["import_id"], **batch.body())
    return dict(begun)


def told(lines: list[Line]) -> list[str]:
    """Return the lines without what an export says that an import cannot set, with original ids."""
    ids: dict[str, str] = {}
    for each in lines:
        origin = (each.get("capture") or {}).get("provenance") or each.get("metadata") or {}
        ids[each["id"]] = origin.get("imported", {}).get("id", each["id"])
    here = json.dumps([_told(each, {}) for each in lines])
    assert not [old for new, old in ids.items() if old != new and old in here], "ids are those of here"
    return sorted(json.dumps(_told(each, ids), sort_keys=True) for each in lines)


def _told(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_told(each, ids) for each in value]
    if not isinstance(value, dict):
        return ids.get(value, value) if isinstance(value, str) else value
    left = {name: _told(each, ids) for name, each in value.items() if name not in (*VOLATILE, "imported")}
    if value.get("kind") == "relation":
        del left["id"]
    if "chunk_index" in value:
        del left["document_id"]
    left["references"] = len(value.get("references", ()))
    if value.get("memory_scope") == "private":
        left["scope_key"] = "the caller"
    return left


ENTITY = st.fixed_dictionaries(
    {
        "name": WORDS, "entity_type": TYPES, "content": st.one_of(st.just(""), WORDS), "description": WORDS,
        "category": st.sampled_from((None, "ops")), "tags": LABELS, "languages": LABELS,
    }
)  # fmt: skip
MEMORY = st.fixed_dictionaries({"raw_content": WORDS, "title": WORDS, "tags": LABELS, "source_id": WORDS})
PLACES = st.sampled_from(("private", "organization", "project", "diary"))
# Drawn before the test runs: an example that is given up inside of it would end the event loop of all tests.
PLAN = st.fixed_dictionaries(
    {
        "task": WORDS, "status": STATES, "note": WORDS, "facts": st.tuples(WORDS, WORDS), "page": WORDS,
        "entities": st.lists(st.tuples(ENTITY, PLACES), min_size=1, max_size=3),
        "memories": st.lists(st.tuples(MEMORY, PLACES, st.booleans()), min_size=1, max_size=3),
        "target": st.integers(0, 2),
    }
)  # fmt: skip


async def filled(who: Person, plan: dict[str, Any]) -> None:
    project = await made(who, "project", "Heron")
    epic = await made(who, "epic", "Ship", project_id=project, priority="high")
    task = await made(who, "task", plan["task"], project_id=project, epic_id=epic, status=plan["status"])
    child = await made(who, "task", "Child", project_id=project, parent_task_id=task, depends_on=[task], odd=[1, None])
    await who.call("add_note", task_id=task, content=plan["note"], author_name="Ada", author_type="agent")
    ids = [task, child]
    for entity, scope in plan["entities"]:
        place = {"private": {"memory_scope": "private"}, "project": {"project_id": project}}.get(scope, {})
        metadata = {"from": ids[0], "deep": {"list": [ids[1], "gone"]}, **place}
        ids.append((await who.call("create_entity", **entity, metadata=metadata))["id"])
    for memory, scope, is_inside in plan["memories"]:
        place = {"diary": True, "agent_id": "scout"} if scope == "diary" else {"memory_scope": scope}
        place |= {"project_id": project} if scope == "project" or is_inside else {}
        said = {"captured_at": "2025-03-01T10:00:00Z", "speaker": "Ada"}
        more = {"metadata": said, "provenance": {"session": "s1"}, "capture_surface": "chat"}
        await who.call("store_raw_memory", **memory, **more, **place)
    kept = await who.call("store_raw_memory", raw_content="We use Valkey.", memory_scope="organization")
    await made(who, "decision", "Valkey", raw_memory_id=kept["id"])
    spans: tuple[dict[str, str], ...] = ({}, {"valid_at": "2024-01-01", "invalid_at": "2025-01-01T10:00:00Z"})
    for name, fact, span in zip(("REQUIRES", "BLOCKS"), plan["facts"], spans, strict=True):
        ends = {"source_id": ids[-1], "target_id": ids[plan["target"] % (len(ids) - 1)]}
        await who.call("add_relation", sync=False, name=name, fact=fact, **ends, **span)
    await who.call("update_entity", entity_id=child, metadata={"parent_task_id": None})
    text = "# Guide\n\nOne.\n\n## Use\n\n" + "Two words. " * 200
    documents = [{"url": "guide.md", "content": text}, {"url": "b.md", "title": "B", "content": plan["page"]}]
    await who.call("ingest_documents", source_name="Docs", source_url="x:y", project=project, documents=documents)


async def made(who: Person, kind: str, name: str, **metadata: Any) -> str:
    return str((await who.call("create_entity", name=name, entity_type=kind, metadata=metadata))["id"])


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=PLAN)
async def test_an_import_elsewhere_is_exported_the_same(app: Any, tmp_path: Path, plan: dict[str, Any]) -> None:
    ada, ben = await person(app, "ada"), await person(app, "ben")
    await filled(ada, plan)
    lines = await exported(ada, limit=3)
    done = await imported(ben, lines, tmp_path / "all.jsonl", target_memory_scope="organization")
    assert (done["errors"], done["skipped_records"]) == ([], [])
    assert told(await exported(ben)) == told(lines)
    again = await imported(ben, lines, tmp_path / "all.jsonl", target_memory_scope="organization")
    assert again["progress"]["imported_count"] == done["progress"]["imported_count"], "all is known"
    assert {each["chunk"]["url"] for each in lines if each.get("chunk")} == {"guide.md", "b.md"}


async def test_what_others_keep_for_themselves_and_what_is_wrong_is_not_exported(owner: Person, member: Person) -> None:
    hidden = await made(owner, "note", "Hidden", memory_scope="private")
    said = await owner.call("store_raw_memory", raw_content="Only mine.")
    shown = await made(owner, "note", "Shown", parent=said["id"], task_id=hidden)
    await owner.call("add_relation", source_id=shown, name="ABOUT", target_id=hidden, fact="A secret.", sync=False)
    wrong = await owner.call("store_raw_memory", raw_content="Port 80.", memory_scope="organization")
    await owner.call("correct_memory", source_id=wrong["id"], action="wrong")
    assert {each["id"] for each in await exported(owner) if each["kind"] == "record"} == {hidden, shown, said["id"]}
    (line,) = await exported(member)
    assert (line["id"], "task_id" in line["metadata"]) == (shown, False)
    page = await owner.call("export_records", limit=1)
    for cursor in ("nowhere:x", "records:", "x:relations:", page["next_cursor"] + "0"):
        await owner.refused("export_records", InvalidRequest, cursor=cursor)
    await member.refused("export_records", InvalidRequest, cursor=page["next_cursor"])
    seen = (await owner.call("memory_audit", action="memory.export"))["events"]
    assert [(each["user_id"], each["source_ids"], each["details"]) for each in seen] == [
        (who.user_id, [], {}) for who in (owner, member, owner)
    ]


async def test_a_project_is_exported_alone(owner: Person) -> None:
    heron, other = await made(owner, "project", "Heron"), await made(owner, "project", "Other")
    inside = await made(owner, "note", "In", project_id=heron)
    outside = await made(owner, "note", "Out", project_id=other)
    await owner.call("add_relation", source_id=inside, name="ABOUT", target_id=outside, sync=False)
    for name, project in (("Docs", heron), ("More", other)):
        page = {"url": "a.md", "content": name}
        await owner.call("ingest_documents", source_name=name, project=project, documents=[page])
    lines = await exported(owner, project="heron")
    assert lines[0]["name"] == "Heron", "projects come first"
    assert {each["name"] for each in lines if each["kind"] == "record"} >= {"Heron", "In", "Docs"}
    assert [each["content"] for each in lines if each.get("chunk")] == ["Docs"]
    assert {each["name"] for each in lines if each["kind"] == "relation"} == {"BELONGS_TO"}
    assert not [each for each in lines if outside in (each.get("source_id"), each.get("target_id"))]


async def test_writes_during_an_export_neither_repeat_nor_lose_what_stays(owner: Person, member: Person) -> None:
    heron = await made(owner, "project", "Heron", visibility="private")
    kept = [await made(owner, "note", f"Note {number}") for number in range(6)]
    lines, cursor = [], None
    while cursor is not None or not lines:
        page = await owner.call("export_records", limit=2, **({"cursor": cursor} if cursor else {}))
        lines, cursor = lines + page["lines"], page["next_cursor"]
        if len(lines) == 2:
            await owner.call("delete_entity", entity_id=kept.pop())
            await owner.call("update_entity", entity_id=kept[0], content="Changed.")
        if len(lines) < 6:
            await owner.call(
                "add_relation", source_id=await made(owner, "note", "New"), name="ABOUT", target_id=kept[0]
            )
    ids = [each["id"] for each in lines]
    assert len(ids) == len(set(ids))
    assert {heron, *kept} <= {*ids}
    await member.refused("export_records", NotFound, project=heron)
    for bad in ({"limit": 0}, {"limit": 501}, {"cursor": "x" * 701}, {"cursor": "a\0b"}, {"project": "\ud800"}):
        await owner.refused("export_records", ValidationFailed, **bad)


async def test_nothing_is_wider_than_it_was(owner: Person, stranger: Person, tmp_path: Path) -> None:
    heron = await made(owner, "project", "Heron")
    for name, scope in (("Mine", {"memory_scope": "private"}), ("Ours", {}), ("In", {"project_id": heron})):
        await made(owner, "note", name, **scope)
    lines, path = await exported(owner), tmp_path / "export.jsonl"
    await imported(stranger, lines, path)
    scopes = {each["name"]: each["memory_scope"] for each in await exported(stranger) if each["kind"] == "record"}
    assert scopes == {"Heron": "project", "Mine": "private", "Ours": "private", "In": "private"}
    assert (await exported(stranger))[0]["metadata"]["visibility"] == "private"
    mate = await person(stranger.app, "mate", of=stranger, role="member")
    kite = await made(stranger, "project", "Kite")
    done = await imported(stranger, lines, path, target_memory_scope="project", target_scope_key=kite)
    assert [each["reason"][:21] for each in done["errors"]] == ["A project is imported"]
    found = {each["name"]: each["project_id"] for each in await exported(mate) if each["kind"] == "record"}
    assert found == {"Kite": None, "Ours": kite, "In": kite}


async def test_lines_that_are_none_are_skipped_and_other_adapters_take_no_scopes(owner: Person, tmp_path: Path) -> None:
    await made(owner, "note", "Kept")
    (line,) = await exported(owner)
    broken = [{"kind": "record"}, line | {"id": "x", "type": "fax"}, line | {"tags": 3}, {"kind": "relation"}]
    done = await imported(owner, [*broken, line], tmp_path / "export.jsonl")
    assert (done["progress"]["imported_count"], done["progress"]["skipped_count"]) == (1, 4)
    begun = await owner.call("start_import", source_uri="file:///x", adapter_name="jsonl")
    record = {"key": "k", "content": "c", "origin": {"path": "p"}, "exported": {}}
    done = await owner.call("keep_import_records", import_id=begun["import_id"], records=[record])
    assert done["errors"][0]["reason"] == "`exported` is for the format engrain."
