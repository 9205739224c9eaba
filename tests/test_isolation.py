"""Nobody learns of a record that is not theirs to read: not in results, counts, diagnostics, errors or events."""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.embedding import Embedder
from stores.errors import EngrainError
from tests.people import Person, person
from tools.app import open_app
from tools.catalogue import OPERATIONS
from tools.logs import LogRing
from tools.settings import Settings

WORDS = ("orchid", "walrus", "granite", "lantern", "velvet", "cobalt", "meadow", "pepper")
TYPES = ("note", "pattern", "rule", "task", "decision")
COUNTS = ("total", "actual_total", "graph_count", "document_count", "raw_memory_count", "has_more")

Arguments = dict[str, Any]
READS: dict[str, Callable[[str, str], list[Arguments]]] = {
    "search": lambda query, _: [
        {"query": query, "include_retrieval_diagnostics": True, "limit": 50},
        {"query": query, "use_enhanced": False, "include_retrieval_diagnostics": True, "limit": 50},
        {"query": query, "as_of": "2999-01-01", "limit": 50},
    ],
    "list_entities": lambda query, _: [{"page_size": 200}, {"search": query}],
    "get_entity": lambda _, hidden: [{"entity_id": hidden}],
    "explore": lambda _, hidden: [{"limit": 200}, *({"mode": m, "entity_id": hidden} for m in ("related", "traverse"))],
    "expand_neighbors": lambda _, hidden: [{"entity_ids": [hidden]}],
    "fetch_slice": lambda _, hidden: [{"entity_id": hidden}],
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
}


@dataclass(frozen=True)
class World:
    """An application with people in it, driven from a test that is not asynchronous."""

    portal: BlockingPortal
    author: Person
    colleague: Person
    admin: Person
    stranger: Person
    outsider: Person
    """A member who is in no team."""
    narrowed: Person
    """The author, with an API key for one project."""
    team_id: str
    """Of the author and the colleague."""

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

        async def prepare() -> tuple[str, str]:
            team_id = (await author.call("create_team", name="Core"))["id"]
            for each in (author, colleague):
                await author.call("add_team_member", team_id=team_id, user_id=each.user_id)
            project = await author.call("create_entity", name="P", entity_type="project")
            made = await author.call("create_api_key", name="k", scopes=["api:write"], project_ids=[project["id"]])
            return team_id, made["api_key"]

        team_id, key = portal.call(prepare)
        yield World(
            portal,
            author,
            colleague,
            portal.call(other, "admin", "admin"),
            portal.call(person, app, "stranger"),
            portal.call(other, "outsider", "member"),
            replace(author, signed=replace(author.signed, access_token=key)),
            team_id,
        )


def answers(world: World, reader: Person, query: str, hidden: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Everything that every read operation says to a reader, as (operation, text, counts)."""
    said = []
    for name, arguments in READS.items():
        for fields in arguments(query, hidden):
            try:
                body = world.run(reader.call, name, **fields)
            except EngrainError as error:
                body = {"message": error.message, "remediation": error.remediation, "details": error.details}
            said.append((name, json.dumps(body, ensure_ascii=False), {key: body.get(key) for key in COUNTS}))
    return said


def test_every_read_operation_is_covered_here() -> None:
    reads = {operation.name for operation in OPERATIONS if operation.scope == "read" and operation.roles is not None}
    assert reads == set(READS)


records = st.tuples(st.sampled_from(TYPES), st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records, linked=st.booleans(), serial=st.integers(0, 10**9))
def test_a_private_record_shows_to_its_author_alone(
    world: World, record: tuple[str, list[str]], linked: bool, serial: int
) -> None:
    readers = (world.colleague, world.admin, world.stranger)
    query, hidden = hide(world, {"memory_scope": "private"}, readers, (*record, linked, serial))
    assert hidden in hits(world, world.author, query)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records, linked=st.booleans(), serial=st.integers(0, 10**9))
def test_a_record_of_a_team_shows_to_its_members_alone(
    world: World, record: tuple[str, list[str]], linked: bool, serial: int
) -> None:
    readers = (world.outsider, world.admin, world.stranger, world.narrowed)
    scope = {"memory_scope": "team", "scope_key": world.team_id}
    query, hidden = hide(world, scope, readers, (*record, linked, serial))
    for member in (world.author, world.colleague):
        assert hidden in hits(world, member, query)


def hits(world: World, reader: Person, query: str) -> set[str]:
    return {hit["id"] for hit in world.run(reader.call, "search", query=query, limit=50)["results"]}


def hide(
    world: World, scope: dict[str, str], readers: tuple[Person, ...], record: tuple[str, list[str], bool, int]
) -> tuple[str, str]:
    """Let the author store a record that these readers learn nothing of; gives the words that find it, and its id."""
    kind, words, linked, serial = record
    secret = f"secret{serial}x"
    public = world.run(world.author.call, "create_entity", name=" ".join(words), entity_type=kind, sync=True)
    query = f"{secret} {' '.join(words)}"
    before = [answers(world, reader, query, "entity_000000000000") for reader in readers]
    hidden = world.run(
        world.author.call,
        "create_entity",
        name=f"{secret} {' '.join(words)}",
        content=f"{secret} content",
        entity_type=kind,
        metadata={**scope, "note": secret},
        related_to=[public["id"]] if linked else None,
        sync=True,
    )
    for reader, earlier in zip(readers, before, strict=True):
        said = answers(world, reader, query, hidden["id"])
        for (name, text, counts), (_, _, counts_before) in zip(said, earlier, strict=True):
            if name != "logs":
                assert counts == counts_before, name
            assert f"{secret} content" not in text, name
            assert secret not in text.replace(query, ""), name
            if name in ("search", "list_entities", "me"):
                assert hidden["id"] not in text, name
    return query, hidden["id"]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=records, serial=st.integers(0, 10**9))
def test_another_organization_is_another_world(world: World, record: tuple[str, list[str]], serial: int) -> None:
    kind, words = record
    secret = f"tenant{serial}x"
    query = f"{secret} {' '.join(words)}"
    before = answers(world, world.stranger, query, "entity_000000000000")
    made = world.run(world.author.call, "create_entity", name=query, content=secret, entity_type=kind, sync=True)
    said = answers(world, world.stranger, query, made["id"])
    for (name, text, counts), (_, _, counts_before) in zip(said, before, strict=True):
        assert counts == counts_before, name
        assert secret not in text.replace(query, ""), name
