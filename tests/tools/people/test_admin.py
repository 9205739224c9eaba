"""Counts and health of an organization, each for its caller alone."""

from pathlib import Path

import pytest

from stores.errors import Conflict, NotFound, ValidationFailed
from stores.graph import GraphIndex
from stores.ledger import RelationDraft
from stores.records import JsonObject
from tests.people import Person
from tools.app import App

pytestmark = pytest.mark.anyio

PRIVATE = {"memory_scope": "private"}


async def test_stats_count_what_the_caller_may_read(owner: Person, viewer: Person, stranger: Person) -> None:
    hub = (await owner.call("create_entity", name="hub"))["id"]
    open_one = (await owner.call("create_entity", name="a", entity_type="note", related_to=[hub]))["id"]
    await owner.call("create_entity", name="b", entity_type="rule", related_to=[hub], metadata=PRIVATE)
    await owner.call("create_entity", name="c", entity_type="note", related_to=[f"requires:{hub}"])
    mine = await owner.call("admin_stats")
    assert mine == {
        "entity_counts": {"episode": 1, "note": 2, "rule": 1}, "total_entities": 4,
        "relationship_counts": {"RELATED_TO": 2, "REQUIRES": 1}, "total_relationships": 3,
    }  # fmt: skip
    seen = await viewer.call("admin_stats")
    assert seen["entity_counts"] == {"episode": 1, "note": 2}
    assert seen["relationship_counts"] == {"RELATED_TO": 1, "REQUIRES": 1}
    assert (await stranger.call("admin_stats"))["total_entities"] == 0
    await owner.call("update_entity", entity_id=open_one, metadata=PRIVATE)
    assert (await viewer.call("admin_stats"))["relationship_counts"] == {"REQUIRES": 1}


async def test_stats_skip_facts_that_ended_or_have_a_hidden_end(app: App, owner: Person, viewer: Person) -> None:
    ids = [(await owner.call("create_entity", name=name, metadata=scope))["id"] for name, scope in
           (("a", {}), ("b", {}), ("hidden", PRIVATE))]  # fmt: skip
    with app.ledger.transaction(owner.organization_id, owner.user_id) as tx:
        ended = tx.relations.add_relation(RelationDraft("BLOCKS", ids[0], ids[1]))
        tx.relations.end_relation(ended.id)
        tx.relations.add_relation(RelationDraft("TOUCHES", ids[0], ids[2]))
    assert (await owner.call("admin_stats"))["relationship_counts"] == {"TOUCHES": 1}
    assert (await viewer.call("admin_stats"))["relationship_counts"] == {}


async def test_health_says_that_all_is_well_and_since_when(owner: Person, viewer: Person) -> None:
    await owner.call("create_entity", name="a", sync=True)
    await owner.call("create_entity", name="b", metadata=PRIVATE, sync=True)
    for reader, count in ((owner, 2), (viewer, 1)):
        health = await reader.call("admin_health")
        assert (health["status"], health["errors"], health["graph_connected"]) == ("healthy", [], True)
        assert health["server_name"] == "engrain"
        assert health["entity_counts"] == {"episode": count}
        assert health["uptime_seconds"] >= 0


async def fail(reader: Person, monkeypatch: pytest.MonkeyPatch, reason: str) -> JsonObject:
    """Let the graph fail at a write, until health tells."""

    def failing(*_: object) -> None:
        raise OSError(reason)

    await reader.call("create_entity", name="a", sync=True)
    with monkeypatch.context() as patch:
        patch.setattr(GraphIndex, "apply", failing)
        await reader.call("create_entity", name="b")
        while (health := await reader.call("admin_health"))["status"] == "healthy":
            pass
    return health


async def test_health_names_an_index_that_is_gone_but_not_where_it_was(
    owner: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [await fail(owner, monkeypatch, f"{tmp_path}/graph is damaged")]
    while seen[-1]["status"] != "healthy":
        seen.append(await owner.call("admin_health"))
    assert seen[-1]["graph_connected"]
    for each in seen[:-1]:
        assert each["errors"] == ["graph: missing or incomplete at this moment."]
        assert str(tmp_path) not in str(each)


async def test_health_tells_how_far_each_index_of_the_own_organization_is(owner: Person, stranger: Person) -> None:
    for reader in (owner, stranger):
        await reader.call("create_entity", name="a", sync=True)
        told = {each["name"]: each["state"] for each in (await reader.call("admin_health"))["indexes"]}
        assert {"lexical", "graph"} <= told.keys() <= {"lexical", "graph", "vectors"}
        assert set(told.values()) == {"ready"}


async def test_health_tells_of_no_index_of_another_organization(
    owner: Person, stranger: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stranger.call("create_entity", name="a", sync=True)
    await fail(owner, monkeypatch, "it is damaged")
    while (await owner.call("admin_health"))["status"] != "healthy":
        assert {each["state"] for each in (await stranger.call("admin_health"))["indexes"]} == {"ready"}


async def test_a_short_id_stands_for_one_record(owner: Person) -> None:
    task = (await owner.call("create_entity", name="t", entity_type="task"))["id"]
    rule = (await owner.call("create_entity", name="r", entity_type="rule"))["id"]
    digits = rule.removeprefix("rule_")
    expected = {"id": rule, "entity_type": "rule", "name": "r"}
    for short in (rule, rule[:12], rule.upper(), digits[:6], digits):
        assert await owner.call("resolve", prefix=short) == expected
        assert (await owner.call("get_entity", entity_id=short))["id"] == rule
    assert (await owner.call("resolve", prefix=task[:8]))["id"] == task
    assert (await owner.call("get_entity", entity_id=task[:13]))["id"] == task


async def test_an_ambiguous_short_id_names_the_readable_matches(owner: Person, viewer: Person) -> None:
    ids = [(await owner.call("create_entity", name=f"n{n}", entity_type="note"))["id"] for n in range(12)]
    hidden = (await owner.call("create_entity", name="h", entity_type="note", metadata=PRIVATE))["id"]
    refused = await viewer.refused("resolve", Conflict, match="more than 10", prefix="note_")
    assert refused.details["actual"] == sorted(ids)[:10]
    assert hidden not in str(refused.details) + refused.message
    assert (await owner.call("resolve", prefix=hidden))["id"] == hidden


async def test_a_hidden_record_has_no_short_id(owner: Person, viewer: Person, stranger: Person) -> None:
    hidden = (await owner.call("create_entity", name="h", entity_type="topic", metadata=PRIVATE))["id"]
    for reader in (viewer, stranger):
        for short in (hidden, hidden[:-2]):
            await reader.refused("resolve", NotFound, match=f"begins with {short}", prefix=short)


@pytest.mark.parametrize("prefix", ["", "abc", "x" * 201, "no\x00te"], ids=["empty", "short", "long", "null"])
async def test_what_is_no_short_id_is_refused(owner: Person, prefix: str) -> None:
    await owner.refused("resolve", ValidationFailed, prefix=prefix)


@pytest.mark.parametrize("prefix", ["%%%%", "____", "note%", "\U0010ffff\U0010ffff\U0010ffff\U0010ffff", "é" * 4])
async def test_odd_characters_stand_for_themselves(owner: Person, prefix: str) -> None:
    await owner.call("create_entity", name="n", entity_type="note")
    await owner.refused("resolve", NotFound, prefix=prefix)
