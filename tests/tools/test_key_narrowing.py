"""API keys for some memory spaces: what lies in these is all there is for them, on every surface."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from stores.errors import EngrainError, Forbidden, InvalidRequest, NotFound
from tests.people import Person, person
from tests.tools.memory.test_memories import WALRUS, a_project, keep
from tests.tools.memory.test_spaces import CREW, a_space, let_in, switch
from tests.tools.runtime.test_events import collect
from tools.app import App
from tools.frame.threads import in_thread

pytestmark = pytest.mark.anyio

NAMES = ("private", "diary", "project", "open project", "team", "organization", "shared", "delegated")


class World:
    owner: Person
    spaces: dict[str, str]
    places: dict[str, dict[str, Any]]
    entities: dict[str, str]
    memories: dict[str, str]

    def held(self, *names: str) -> tuple[set[str], set[str]]:
        return {self.entities[name] for name in names}, {self.memories[name] for name in names}


@pytest.fixture
async def world(owner: Person) -> World:
    made = World()
    made.owner = owner
    project, other = await a_project(owner), await a_project(owner)
    team = (await owner.call("create_team", name="Core"))["id"]
    await owner.call("add_team_member", team_id=team, user_id=owner.user_id)
    keys: dict[str, str | None] = {
        "private": None, "project": project, "team": team, "organization": None, "shared": "crew", "delegated": "bot",
    }  # fmt: skip
    made.spaces = {scope: (await a_space(owner, scope, key))["id"] for scope, key in keys.items()}
    made.places = {
        scope: {"memory_scope": scope} | ({} if key is None else {"scope_key": key}) for scope, key in keys.items()
    }
    made.places |= {"other": {"memory_scope": "project", "scope_key": other}}
    made.entities, made.memories = {"a project": project}, {}
    for scope, place in made.places.items():
        entity = dict(place)
        if place["memory_scope"] == "project":
            entity = {"project_id": place["scope_key"]}
        named = {"name": f"{WALRUS} {scope}", "metadata": entity, "sync": True}
        made.entities[scope] = (await owner.call("create_entity", **named))["id"]
        made.memories[scope] = (await keep(owner, f"{WALRUS} {scope}", **place))["id"]
    made.memories["diary"] = (await keep(owner, WALRUS, diary=True, agent_id="scout"))["id"]
    return made


async def holder(owner: Person, *space_ids: str, **fields: Any) -> Person:
    wanted = {"name": "k", "scopes": ["api:write", "mcp"], "memory_space_ids": list(space_ids), **fields}
    made = await owner.call("create_api_key", **wanted)
    assert made["memory_space_ids"] == list(space_ids)
    return replace(owner, signed=replace(owner.signed, access_token=made["api_key"]))


async def seen(who: Person) -> tuple[set[str], set[str]]:
    listed = await who.call("list_entities", page_size=200)
    explored = await who.call("explore", limit=200)
    entities = {each["id"] for each in listed["entities"]}
    assert {each["id"] for each in explored["entities"]} == entities
    assert (listed["total"], sum((await who.call("admin_stats"))["entity_counts"].values())) == (len(entities),) * 2
    searched = await who.call("search", query=WALRUS, limit=50)
    hits = {hit["id"] for hit in searched["results"]}
    captures = await who.call("list_captures", limit=200)
    memories = {each["id"] for each in captures["captures"]}
    assert captures["total"] == len(memories)
    assert hits <= entities | memories
    assert searched["graph_count"] + searched["raw_memory_count"] == len(hits)
    return entities, memories


@pytest.mark.parametrize(
    ("scope", "also", "memories"),
    [
        ("private", (), ("private", "diary")), ("project", ("a project",), ("project",)), ("team", (), ("team",)),
        ("organization", (), ("organization",)), ("shared", (), ("shared",)), ("delegated", (), ("delegated",)),
    ],
)  # fmt: skip
async def test_a_space_key_sees_only_its_space(
    world: World, scope: str, also: tuple[str, ...], memories: tuple[str, ...]
) -> None:
    key = await holder(world.owner, world.spaces[scope])
    entities, captures = await seen(key)
    assert entities == {world.entities[name] for name in (scope, *also)}
    assert captures == {world.memories[name] for name in memories}
    for name, place in world.places.items():
        if name == scope:
            answer = await key.call("recall", query=WALRUS, **place)
            assert [each["id"] for each in answer["memories"]] == [world.memories[name]]
            written = await key.call("store_raw_memory", raw_content="x", **place)
            metadata = {"project_id": place["scope_key"]} if scope == "project" else place
            made = await key.call("create_entity", name="x", metadata=metadata)
            assert written["memory_scope"] == made["metadata"]["memory_scope"] == scope
            continue
        error = NotFound if place["memory_scope"] == "project" else Forbidden
        await key.refused("recall", error, query=WALRUS, **place)
        await key.refused("store_raw_memory", error, raw_content="x", **place)
        metadata = {"project_id": place["scope_key"]} if place["memory_scope"] == "project" else place
        await key.refused("create_entity", (Forbidden, NotFound), name="x", metadata=metadata)
        for operation, named in (
            ("get_entity", {"entity_id": world.entities[name]}),
            ("get_capture", {"capture_id": world.memories[name]}),
            ("update_entity", {"entity_id": world.entities[name], "name": "x"}),
            ("erase_capture", {"capture_id": world.memories[name]}),
        ):
            await key.refused(operation, NotFound, **named)
    if scope != "organization":
        await key.refused("create_entity", Forbidden, match="narrowed", name="x")


async def test_spaces_add_up_and_projects_cut_them(world: World) -> None:
    two = await holder(world.owner, world.spaces["team"], world.spaces["shared"])
    assert await seen(two) == world.held("team", "shared")
    project = world.entities["a project"]
    ids = [world.spaces["team"], world.spaces["project"]]
    both = await holder(world.owner, *ids, project_ids=[project])
    assert await seen(both) == ({project, world.entities["project"]}, {world.memories["project"]})
    other = world.places["other"]["scope_key"]
    none = await holder(world.owner, *ids, project_ids=[other])
    assert await seen(none) == (set(), set())


async def test_keys_need_spaces_their_maker_reads(app: App, world: World, stranger: Person, member: Person) -> None:
    admin = await person(app, "admin", of=world.owner, role="admin")
    own = (await a_space(admin, "private", None))["id"]
    foreign = (await a_space(stranger))["id"]
    public = (await a_space(admin, "public", None))["id"]
    crew = world.spaces["shared"]
    for who, space_id in (
        (world.owner, str(uuid4())), (world.owner, own), (world.owner, foreign), (world.owner, public), (admin, crew),
        (admin, world.spaces["team"]), (admin, world.spaces["private"]),
    ):  # fmt: skip
        with pytest.raises(InvalidRequest) as error:
            await holder(who, space_id)
        assert (error.value.code, error.value.message) == ("invalid_api_key_memory_space_scope",) * 2
    await let_in(world.owner, crew, admin)
    assert await seen(await holder(admin, crew)) == world.held("shared")
    await switch(world.owner, crew, "disabled")
    with pytest.raises(InvalidRequest, match="invalid_api_key_memory_space_scope"):
        await holder(admin, crew)


async def test_a_space_that_is_disabled_or_left_leaves_nothing_at_once(app: App, world: World) -> None:
    admin = await person(app, "admin", of=world.owner, role="admin")
    crew = world.spaces["shared"]
    await let_in(world.owner, crew, admin, "writer")
    key = await holder(admin, crew)
    assert await seen(key) == world.held("shared")
    await switch(world.owner, crew, "disabled")
    assert await seen(key) == (set(), set())
    await key.refused("recall", Forbidden, match="scope_not_enabled", query="walrus", **CREW)
    await switch(world.owner, crew, "active")
    assert await seen(key) == world.held("shared")
    await let_in(world.owner, crew, admin, expires_at="2020-01-01T00:00:00Z")
    assert await seen(key) == (set(), set())
    await key.refused("recall", Forbidden, match="unverified_membership", query="walrus", **CREW)
    project = await holder(world.owner, world.spaces["project"])
    await switch(world.owner, world.spaces["project"], "disabled")
    assert await seen(project) == (set(), set())


async def test_events_of_other_places_do_not_reach_the_key(world: World) -> None:
    app, owner = world.owner.app, world.owner
    key = await holder(owner, world.spaces["team"])
    async with app.events.subscribe(await in_thread(app.accounts.authenticate, key.token)) as stream:
        for name in ("private", "organization", "shared", "other"):
            await keep(owner, "Not for the key.", **world.places[name])
            metadata = {"project_id": world.places[name]["scope_key"]} if name == "other" else world.places[name]
            await owner.call("create_entity", name="x", metadata=metadata, sync=True)
        kept = await keep(owner, "For the key.", **world.places["team"])
        made = await owner.call("create_entity", name="x", metadata=world.places["team"], sync=True)
        assert [event.data["id"] for event in await collect(stream, 2)] == [kept["id"], made["id"]]
        await switch(owner, world.spaces["team"], "disabled")
        await owner.call("create_entity", name="y", metadata=world.places["team"], sync=True)
        await switch(owner, world.spaces["team"], "active")
        last = await owner.call("create_entity", name="z", metadata=world.places["team"], sync=True)
        assert [event.data["id"] for event in await collect(stream, 1)] == [last["id"]]


@pytest.mark.parametrize("scope", ["project", "organization"])
async def test_what_concerns_more_than_spaces_is_not_for_the_key(world: World, scope: str) -> None:
    key = await holder(world.owner, world.spaces[scope])
    for operation, fields in (
        ("list_teams", {}), ("read_audit", {}), ("logs", {}), ("list_memory_spaces", {}),
        ("get_memory_space", {"space_id": world.spaces[scope]}),
        ("preview_memory_space_access", {"space_id": world.spaces[scope], "target_principal_id": "x"}),
        ("create_entity", {"name": "P", "entity_type": "project"}),
    ):  # fmt: skip
        await key.refused(operation, EngrainError, match="narrowed", **fields)
