"""Nobody learns of a record that is not theirs to read, and nobody feels it: not in results, counts or errors."""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.embedding import Embedder
from stores.errors import EngrainError
from tests.people import Person, caught_up, person, tokens_made
from tools.app import open_app
from tools.catalogue import OPERATIONS
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

WORDS = ("orchid", "walrus", "granite", "lantern", "velvet", "cobalt", "meadow", "pepper")
TYPES = ("note", "pattern", "rule", "task", "decision")
COUNTS = (
    "entity_counts", "relationship_counts", "total", "actual_total", "graph_count", "document_count",
    "raw_memory_count", "total_items", "has_more",
)  # fmt: skip

Arguments = dict[str, Any]
READS: dict[str, Callable[[str, str], list[Arguments]]] = {
    "search": lambda query, _: [
        {"query": query, "include_retrieval_diagnostics": True, "limit": 50},
        {"query": query, "use_enhanced": False, "include_retrieval_diagnostics": True, "limit": 50},
        {"query": query, "as_of": "2999-01-01", "limit": 50},
    ],
    "context": lambda query, _: [
        {"goal": query, "intent": "general", "layer": "deep_search", "limit": 50, "audit": True},
        {"goal": query, "intent": "review", "evidence": {"types": [*TYPES, "raw_memory"]}},
        {"goal": query, "evidence": {"types": [*TYPES], "retrieval_mode": "naive"}},
    ],
    "synthesis_plan": lambda query, hidden: [
        {"goal": query, "depth": "deep"},
        {"goal": query, "entity_ids": [hidden], "artifact_ids": [hidden]},
        {"goal": "x", "required_sections": [{"title": "Birds", "prompt": query, "required_source_ids": [hidden]}]},
    ],
    "synthesis_verify": lambda query, hidden: [{"goal": query, "decision_ids": [hidden], "output_type": "report"}],
    "synthesis_draft": lambda query, hidden: [
        {"goal": query, "task_ids": [hidden], "output_type": "custom", "output_format": "json"}
    ],
    "synthesis_handbook": lambda *_: [{"depth": "deep"}],
    "list_entities": lambda query, _: [{"page_size": 200}, {"search": query}],
    "get_entity": lambda _, hidden: [{"entity_id": hidden}, {"entity_id": hidden, "as_of": "2999-01-01"}],
    "explore": lambda _, hidden: [{"limit": 200}, *({"mode": m, "entity_id": hidden} for m in ("related", "traverse"))],
    "temporal": lambda _, hidden: [
        *({"mode": mode, "limit": 200} for mode in ("history", "timeline", "conflicts")),
        {"entity_id": hidden},
        {"mode": "timeline", "as_of": "2999-01-01", "limit": 1},
    ],
    "expand_neighbors": lambda _, hidden: [{"entity_ids": [hidden]}],
    "fetch_slice": lambda _, hidden: [{"entity_id": hidden}],
    "experience_evidence": lambda _, hidden: [{"source_id": hidden}],
    "list_relations": lambda _, hidden: [{"entity_id": hidden, "include_expired": True}],
    "list_notes": lambda _, hidden: [{"task_id": hidden}],
    "me": lambda *_: [{}],
    "list_api_keys": lambda *_: [{}],
    "get_profile": lambda *_: [{}],
    "get_preferences": lambda *_: [{}],
    "list_grants": lambda *_: [{}],
    "list_sessions": lambda *_: [{}],
    "describe_device": lambda query, _: [{"user_code": query}],
    "list_organizations": lambda *_: [{}],
    "get_organization": lambda query, _: [{"org_slug": query}],
    "list_members": lambda query, _: [{"org_slug": query}],
    "list_invitations": lambda query, _: [{"org_slug": query}],
    "list_project_members": lambda _, hidden: [{"project_id": hidden}],
    "list_teams": lambda *_: [{}],
    "get_team": lambda _, hidden: [{"team_id": hidden}],
    "list_team_members": lambda _, hidden: [{"team_id": hidden}],
    "list_team_projects": lambda _, hidden: [{"team_id": hidden}],
    "read_audit": lambda *_: [{"limit": 200}, {"log": "server"}],
    "logs": lambda *_: [{"limit": 500}],
    "project_metrics": lambda _, hidden: [{"project_id": hidden}],
    "admin_stats": lambda *_: [{}],
    "admin_health": lambda *_: [{}],
    "list_captures": lambda *_: [{"limit": 200}],
    "get_capture": lambda _, hidden: [{"capture_id": hidden}],
    "recall": lambda query, _: [
        {"query": query, "limit": 50},
        {"query": query, "memory_scope": "organization"},
        {"query": query, "diary": True},
    ],
    "list_memory_spaces": lambda *_: [{}],
    "get_memory_space": lambda _, hidden: [{"space_id": hidden}],
    "preview_memory_space_access": lambda query, hidden: [{"space_id": hidden, "target_principal_id": query}],
    "preview_promotion": lambda _, hidden: [{"candidate_id": hidden}],
    "inspect_memory": lambda _, hidden: [{"source_id": hidden}],
    "preview_correction": lambda _, hidden: [{"source_id": hidden, "action": "delete"}],
    "preview_share": lambda _, hidden: [{"source_ids": [hidden], "target_scope": "organization"}],
    "list_import_adapters": lambda *_: [{}],
    "list_imports": lambda *_: [{}],
    "source_import": lambda _, hidden: [{"import_id": hidden}],
    "list_review": lambda *_: [{}, {"kind": "contested"}],
    "memory_audit": lambda _, hidden: [{"limit": 200}, {"source_id": hidden}, {"derived_id": hidden}],
    "export_audit": lambda *_: [{}, {"resource": "x"}],
    "export_records": lambda _, hidden: [{}, {"project": hidden}],
    "job_status": lambda query, hidden: [{"job_ids": [hidden, query]}],
    "list_jobs": lambda *_: [{"limit": 200}],
    "get_job": lambda _, hidden: [{"job_id": hidden}],
    "resolve": lambda _, hidden: [{"prefix": hidden}, {"prefix": hidden[:-2]}],
}


WRITES: dict[str, Callable[[str], list[Arguments]]] = {
    "update_entity": lambda hidden: [
        {"entity_id": hidden, "name": "taken"},
        {"entity_id": hidden, "name": "taken", "expected_revision": 1},
        {"entity_id": hidden, "metadata": {"memory_scope": "organization"}, "expected_revision": 77},
    ],
    "delete_entity": lambda hidden: [{"entity_id": hidden, "expected_revision": 77}, {"entity_id": hidden}],
    "create_entity": lambda hidden: [
        {"name": "x", "related_to": [hidden]},
        {"name": "x", "related_to": [f"supersedes:{hidden}"], "metadata": {"memory_scope": "private"}},
        {"name": "x", "metadata": {"project_id": hidden}},
    ],
    "bulk_create_entities": lambda hidden: [{"entities": [{"name": "x", "related_to": [f"blocks:{hidden}"]}]}],
    "add": lambda hidden: [{"title": "x", "content": "x", "depends_on": [hidden], "skip_conflicts": True}],
    "add_relation": lambda hidden: [
        {"source_id": hidden, "name": "ABOUT", "target_id": NOBODYS},
        {"source_id": hidden, "name": "ABOUT", "target_id": hidden},
    ],
    "bulk_relations": lambda hidden: [{"relations": [{"source_id": hidden, "name": "ABOUT", "target_id": NOBODYS}]}],
    "end_relation": lambda hidden: [{"relation_id": hidden}],
    "create_task": lambda hidden: [{"title": "x", "project_id": hidden}],
    "update_task": lambda hidden: [{"task_id": hidden, "title": "x", "expected_revision": 77}],
    "start_task": lambda hidden: [{"task_id": hidden}, {"task_id": hidden, "expected_revision": 77}],
    "block_task": lambda hidden: [{"task_id": hidden, "reason": "x"}],
    "unblock_task": lambda hidden: [{"task_id": hidden}],
    "submit_review": lambda hidden: [{"task_id": hidden}],
    "complete_task": lambda hidden: [{"task_id": hidden, "learnings": "x", "cited_ids": [hidden]}],
    "archive_task": lambda hidden: [{"task_id": hidden}],
    "add_note": lambda hidden: [{"task_id": hidden, "content": "x"}],
    "update_epic": lambda hidden: [{"epic_id": hidden, "title": "x", "expected_revision": 77}],
    "start_epic": lambda hidden: [{"epic_id": hidden}],
    "complete_epic": lambda hidden: [{"epic_id": hidden, "learnings": "x"}],
    "archive_epic": lambda hidden: [{"epic_id": hidden}],
    "manage": lambda hidden: [{"action": "start_task", "entity_id": hidden}],
    "store_raw_memory": lambda hidden: [
        {"raw_content": "x", "project_id": hidden},
        {"raw_content": "x", "memory_scope": "project", "scope_key": hidden},
    ],
    "reflect": lambda hidden: [
        {"content": "x", "related_to": [hidden]},
        {"content": "x", "task_ids": [hidden], "persist": True},
        {"content": "x", "project": hidden, "persist_source": False},
    ],
    "synthesis_draft": lambda hidden: [
        {"goal": "x", "remember": True, "memory_scope": "project", "scope_key": hidden},
        {"goal": "x", "project": hidden},
    ],
    "review_capture": lambda hidden: [{"capture_id": hidden, "review_state": "archived"}],
    "erase_capture": lambda hidden: [{"capture_id": hidden}],
    "remember": lambda hidden: [
        {"title": "x", "content": "x", "related_to": [hidden]},
        {"title": "x", "content": "x", "related_to": [f"supersedes:{hidden}"]},
        {"title": "x", "content": "x", "task_ids": [hidden]},
        {"title": "x", "content": "x", "memory_scope": "project", "scope_key": hidden},
    ],
    "correct_memory": lambda hidden: [{"source_id": hidden, "action": "delete"}],
    "decide_review": lambda hidden: [{"item_id": hidden, "verb": verb} for verb in ("approve", "reject")],
    "promote_candidate": lambda hidden: [{"candidate_id": hidden}],
    "review_candidate": lambda hidden: [{"candidate_id": hidden}],
    "cancel_job": lambda hidden: [{"job_id": hidden}],
    "delete_job": lambda hidden: [{"job_id": hidden}],
    "sync_source": lambda hidden: [{"source_id": hidden}],
    "crawl_source": lambda hidden: [{"url": "https://x.invalid/", "project": hidden}],
    "ingest_documents": lambda hidden: [{"source_id": hidden, "documents": [{"url": "u", "content": "c"}]}],
}
"""Writes that name a record, and fail where it is hidden."""
SHARED = {"memory_scope": "shared", "scope_key": "crew"}
SCOPES = ("private", "team", "diary", "project", "shared")
NOBODYS = "note_000000000000"


@dataclass(frozen=True)
class World:
    portal: BlockingPortal
    author: Person
    colleague: Person
    admin: Person
    stranger: Person
    outsider: Person
    """A member who is in no team."""
    narrowed: Person
    """The author, with an API key for one project."""
    spaced: Person
    """The author, with an API key for one shared memory space."""
    team_id: str
    """Of the author and the colleague."""
    project_id: str
    """A project that everybody in the organization may read."""
    space_id: str
    """A shared memory space of the author and the colleague."""

    def run(self, function: Callable[..., Awaitable[Any]], *args: Any, **fields: Any) -> Any:
        async def call() -> Any:
            return await function(*args, **fields)

        return self.portal.call(call)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("isolation")
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal("asyncio"))
        app = stack.enter_context(
            portal.wrap_async_context_manager(open_app(Settings(data_dir=folder), logs=LogRing(), embedder=embedder))
        )
        author = portal.call(person, app, "author")

        async def other(name: str, role: Any) -> Person:
            return await person(app, name, of=author, role=role)

        colleague = portal.call(other, "colleague", "member")

        async def prepare() -> tuple[str, str, str, str, str]:
            team_id = (await author.call("create_team", name="Core"))["id"]
            for each in (author, colleague):
                await author.call("add_team_member", team_id=team_id, user_id=each.user_id)
            project = await author.call("create_entity", name="P", entity_type="project")
            made = await author.call("create_api_key", name="k", scopes=["api:write"], project_ids=[project["id"]])
            space_id = (await author.call("create_memory_space", name="Crew", **SHARED))["id"]
            crew = {"space_id": space_id, "principal_type": "user", "principal_id": colleague.user_id}
            await author.call("put_memory_space_member", **crew)
            spaced = await author.call("create_api_key", name="s", scopes=["api:write"], memory_space_ids=[space_id])
            return team_id, made["api_key"], spaced["api_key"], project["id"], space_id

        team_id, key, space_key, project_id, space_id = portal.call(prepare)
        yield World(
            portal, author, colleague, portal.call(other, "admin", "admin"), portal.call(person, app, "stranger"),
            portal.call(other, "outsider", "member"),
            replace(author, signed=replace(author.signed, access_token=key)),
            replace(author, signed=replace(author.signed, access_token=space_key)), team_id, project_id, space_id,
        )  # fmt: skip


Answer = tuple[str, str, dict[str, Any]]
"""An operation's name, the text of its answer, and the counts in it."""


def answers(world: World, reader: Person, query: str, hidden: str) -> list[Answer]:
    said = []
    for name, arguments in READS.items():
        for fields in arguments(query, hidden):
            try:
                body = world.run(reader.call, name, **fields)
            except EngrainError as error:
                body = {"message": error.message, "remediation": error.remediation, "details": error.details}
            said.append((name, json.dumps(body, ensure_ascii=False), {key: body.get(key) for key in COUNTS}))
    return said


def refusals(world: World, writer: Person, hidden: str) -> list[tuple[str, ...]]:
    said = []
    for name, arguments in WRITES.items():
        for fields in arguments(hidden):
            with pytest.raises(EngrainError) as refused:
                world.run(writer.call, name, **fields)
            error = refused.value
            texts = (error.message, error.remediation, json.dumps(error.details))
            said.append((name, error.code, *(text.replace(hidden, "<id>") for text in texts)))
    return said


def test_every_read_operation_is_covered_here() -> None:
    reads = {operation.name for operation in OPERATIONS if operation.scope == "read" and operation.roles is not None}
    reads |= {operation.name for operation in OPERATIONS if operation.name.startswith("synthesis_")}
    assert reads == set(READS)


RECORDS = pytest.mark.parametrize(("kind", "linked"), [("note", False), ("task", True)])
records = st.tuples(st.sampled_from(TYPES), st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))


@RECORDS
def test_a_private_record_shows_to_its_author_alone(world: World, kind: str, linked: bool) -> None:
    readers = (world.colleague, world.admin, world.stranger)
    hide(world, {"memory_scope": "private"}, readers, kind, linked)


@RECORDS
def test_team_records_are_isolated(world: World, kind: str, linked: bool) -> None:
    readers = (world.outsider, world.admin, world.stranger, world.narrowed, world.spaced)
    scope = {"memory_scope": "team", "scope_key": world.team_id}
    query, hidden = hide(world, scope, readers, kind, linked)
    assert hidden in hits(world, world.colleague, query)


@RECORDS
def test_space_records_are_isolated(world: World, kind: str, linked: bool) -> None:
    readers = (world.outsider, world.admin, world.stranger, world.narrowed)
    query, hidden = hide(world, dict(SHARED), readers, kind, linked)
    for member in (world.colleague, world.spaced):
        assert hidden in hits(world, member, query)


@pytest.mark.parametrize(("scope", "kind"), [*zip(SCOPES, TYPES, strict=True)])
def test_raw_memories_and_what_is_made_of_them_are_isolated(world: World, scope: str, kind: str) -> None:
    readers = (world.outsider, world.stranger, *(() if scope == "project" else (world.admin, world.narrowed)))
    readers += () if scope == "shared" else (world.spaced,)
    fields: Arguments = {
        "private": {},
        "team": {"memory_scope": "team", "scope_key": world.team_id},
        "diary": {"diary": True, "agent_id": "scout"},
        "project": {"memory_scope": "project", "scope_key": world.project_id},
        "shared": SHARED,
    }[scope]
    secret, plain = f"raw{scope}x", " ".join(WORDS[SCOPES.index(scope) :][:3])
    query = f"{secret} {plain}"
    world.run(world.author.call, "create_entity", name=plain, entity_type=kind, sync=True)
    world.run(tokens_made, world.author)
    before = [answers(world, reader, query, "entity_000000000000") for reader in readers]
    kept = world.run(world.author.call, "store_raw_memory", raw_content=query, title=secret, sync=True, **fields)
    metadata = {"raw_memory_id": kept["id"]} | ({"project_id": world.project_id} if scope == "project" else {})
    made = world.run(
        world.author.call, "create_entity", name=query, entity_type=kind, content=secret, metadata=metadata, sync=True
    )
    said = world.run(world.author.call, "cite", cited_ids=[kept["id"], made["id"]])
    assert said["counted_ids"] == [kept["id"], made["id"]]
    for hidden in (kept["id"], made["id"]):
        for reader, earlier in zip(readers, before, strict=True):
            require_unseen(world, reader, earlier, query, hidden, secret)
            require_unknown(world, reader, hidden)
    scoped = {key: value for key, value in fields.items() if key != "agent_id"}
    recalled = world.run(world.author.call, "recall", query=query, limit=50, **scoped)
    assert kept["id"] in {memory["id"] for memory in recalled["memories"]}


def require_unseen(world: World, reader: Person, before: list[Answer], query: str, hidden: str, secret: str) -> None:
    said = answers(world, reader, query, hidden)
    for (name, text, counts), (_, _, counts_before) in zip(said, before, strict=True):
        if name == "read_audit":  # The readers' own reads fill the log.
            counts, counts_before = counts | {"has_more": None}, counts_before | {"has_more": None}
        if name != "logs":
            assert counts == counts_before, name
        assert secret not in text.replace(query, ""), name
        if name in ("search", "context", "list_entities", "me", "recall", "list_captures"):
            assert hidden not in text, name


def require_unknown(world: World, reader: Person, hidden: str) -> None:
    assert refusals(world, reader, hidden) == refusals(world, reader, NOBODYS)
    cited = [world.run(reader.call, "cite", cited_ids=[each]) for each in (hidden, NOBODYS)]
    assert [each.pop("unknown_ids") for each in cited] == [[hidden], [NOBODYS]]
    assert cited[0] == cited[1]


def hits(world: World, reader: Person, query: str) -> set[str]:
    return {hit["id"] for hit in world.run(reader.call, "search", query=query, limit=50)["results"]}


def hide(world: World, scope: dict[str, str], readers: tuple[Person, ...], kind: str, linked: bool) -> tuple[str, str]:
    words, secret = WORDS[:3], f"secret{uuid4().hex}x"
    public = world.run(world.author.call, "create_entity", name=" ".join(words), entity_type=kind, sync=True)
    world.run(tokens_made, world.author)
    query = f"{secret} {' '.join(words)}"
    before = [answers(world, reader, query, "entity_000000000000") for reader in readers]
    hidden = world.run(
        world.author.call, "create_entity", name=query, content=f"{secret} content",
        entity_type=kind, metadata={**scope, "note": secret}, related_to=[public["id"]] if linked else None,
        sync=True,
    )  # fmt: skip
    world.run(tokens_made, world.author)
    world.run(world.author.call, "cite", cited_ids=[hidden["id"]])
    for reader, earlier in zip(readers, before, strict=True):
        require_unseen(world, reader, earlier, query, hidden["id"], secret)
        require_unknown(world, reader, hidden["id"])
    assert hidden["id"] in hits(world, world.author, query)
    return query, hidden["id"]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records, serial=st.integers(0, 10**9))
def test_another_organization_is_another_world(world: World, record: tuple[str, list[str]], serial: int) -> None:
    kind, words = record
    secret = f"tenant{serial}x"
    query = f"{secret} {' '.join(words)}"
    before = answers(world, world.stranger, query, "entity_000000000000")
    made = world.run(world.author.call, "create_entity", name=query, content=secret, entity_type=kind, sync=True)
    require_unseen(world, world.stranger, before, query, made["id"], secret)


def around(world: World, reader: Person, entity_id: str) -> dict[str, object]:
    found = world.run(reader.call, "search", query="walrus", types=["episode"], include_retrieval_diagnostics=True)
    retrieval = found["filters"]["graph_retrieval"]
    read = [world.run(reader.call, "get_entity", entity_id=entity_id, related_limit=limit) for limit in (1, 2, 50)]
    explored = world.run(reader.call, "explore", mode="related", entity_id=entity_id)
    expanded = world.run(reader.call, "expand_neighbors", entity_ids=[entity_id])
    return {
        "search": ({hit["id"] for hit in found["results"]}, found["total"]),
        "diagnostics": {key: retrieval[key] for key in ("merged_count", "lifecycle_gate", "lexical_count")},
        "related": [[each["id"] for each in answer["related"]] for answer in read],
        "relations": [world.run(reader.call, "list_relations", entity_id=entity_id, limit=limit) for limit in (1, 200)],
        "explored": ({each["id"] for each in explored["entities"]}, explored["actual_total"]),
        "expanded": {each["id"] for each in expanded["results"][0]["neighbors"]},
    }


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    scopes=st.lists(st.sampled_from(("private", "organization")), min_size=1, max_size=4),
    relationship=st.sampled_from(("supersedes", "requires")),
    crowd=st.sampled_from((0, 12, 25)),
)
def test_effects_follow_present_visibility(world: World, scopes: list[str], relationship: str, crowd: int) -> None:
    author = world.portal.call(person, world.author.app, "author")
    reader = world.run(person, author.app, "reader", of=author, role="member")
    hub = world.run(reader.call, "create_entity", name="hub", content="walrus", sync=True)["id"]
    near = world.run(reader.call, "create_entity", name="near", related_to=[hub], entity_type="note", sync=True)["id"]
    before = around(world, reader, hub)
    private = {"memory_scope": "private"}
    if crowd:
        hidden = [{"name": f"n{number}", "related_to": [hub], "metadata": private} for number in range(crowd)]
        world.run(author.call, "bulk_create_entities", entities=hidden)
    first, *others = scopes
    link = f"{relationship}:{hub}"
    made = world.run(
        author.call, "create_entity", name="newer", content="walrus", related_to=[link],
        metadata={"memory_scope": first},
    )["id"]  # fmt: skip
    for scope in others:
        world.run(author.call, "update_entity", entity_id=made, metadata={"memory_scope": scope})
    world.run(caught_up, author)
    seen = around(world, reader, hub)
    if scopes[-1] == "private":
        assert seen == before
        return
    retires = relationship == "supersedes"
    assert seen["search"] == ({made} if retires else {hub, made}, 1 if retires else 2)
    assert seen["related"] == [[made], [made, near], [made, near]]
    assert [page["total"] for page in seen["relations"]] == [2, 2]  # type: ignore[attr-defined]
    assert seen["explored"] == ({made, near}, 2)
    assert seen["expanded"] == {made, near}
