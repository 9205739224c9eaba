"""Exploring: dependencies of both sides, cycles, hubs, pages whose counts add up."""

import re
from datetime import timedelta
from typing import Any

import pytest

from stores.errors import ValidationFailed
from stores.graph import NeighbourQuery
from stores.ledger import RelationDraft
from stores.records import ORGANIZATION
from tests.people import Person, caught_up
from tools.relations import explore

pytestmark = pytest.mark.anyio


async def made(person: Person, *names: str, **fields: Any) -> list[str]:
    entities = [{"name": name, **fields} for name in names]
    return [each["id"] for each in (await person.call("bulk_create_entities", entities=entities))["entities"]]


async def link(person: Person, *edges: tuple[str, str, str], **fields: Any) -> None:
    with person.app.ledger.transaction(person.organization_id, person.user_id) as tx:
        for source_id, name, target_id in edges:
            tx.relations.add_relation(RelationDraft(name, source_id, target_id, **fields))
    await caught_up(person)


def rows(page: dict[str, Any]) -> list[tuple[str, str, str, int]]:
    return [(each["name"], each["dependency"], each["direction"], each["distance"]) for each in page["entities"]]


async def test_what_something_needs_is_told_apart_from_what_needs_it(owner: Person) -> None:
    a, b, c, d, e, f = await made(owner, *"abcdef")
    edges = [(a, "DEPENDS_ON", b), (b, "REQUIRES", c), (d, "DEPENDS_ON", a), (e, "BLOCKS", a), (a, "BLOCKS", f)]
    await link(owner, *edges, (a, "ABOUT", c), (d, "DEPENDS_ON", f))
    near = await owner.call("explore", mode="dependencies", entity_id=a)
    assert sorted(rows(near)) == [
        ("b", "needs", "outgoing", 1), ("d", "needed_by", "incoming", 1), ("e", "needs", "incoming", 1),
        ("f", "needed_by", "outgoing", 1),
    ]  # fmt: skip
    far = await owner.call("explore", mode="dependencies", entity_id=a, depth=3)
    assert set(rows(far)) - set(rows(near)) == {("c", "needs", "outgoing", 2)}, "what else needs f does not need a"
    assert [each["distance"] for each in far["entities"]] == [1, 1, 1, 1, 2]
    blocked = await owner.call("explore", mode="dependencies", entity_id=a, relationship_types=["blocks"], depth=3)
    assert {row[0] for row in rows(blocked)} == {"e", "f"}
    nothing = await owner.call("explore", mode="dependencies", entity_id=a, relationship_types=["ABOUT"])
    assert (nothing["entities"], nothing["actual_total"], nothing["capped"]) == ([], 0, False)


async def test_in_a_cycle_everybody_needs_and_is_needed(owner: Person) -> None:
    a, b, c = await made(owner, *"abc")
    await link(owner, (a, "DEPENDS_ON", b), (b, "DEPENDS_ON", c), (c, "DEPENDS_ON", a), (a, "DEPENDS_ON", a))
    found = await owner.call("explore", mode="dependencies", entity_id=a, depth=3)
    assert sorted(rows(found)) == [
        ("b", "needed_by", "incoming", 2), ("b", "needs", "outgoing", 1), ("c", "needed_by", "incoming", 1),
        ("c", "needs", "outgoing", 2),
    ]  # fmt: skip
    assert found["total"] == found["actual_total"] == 4
    pages = [await owner.call("explore", mode="dependencies", entity_id=a, depth=3, limit=3, offset=n) for n in (0, 3)]
    assert [(page["total"], page["actual_total"], page["has_more"]) for page in pages] == [(3, 4, True), (1, 4, False)]
    assert rows(pages[0]) + rows(pages[1]) == rows(found)


async def test_a_walk_past_a_hub_is_bounded_and_says_so(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "WALK_LIMIT", 20)
    (hub,) = await made(owner, "hub")
    leaves = await made(owner, *(f"leaf {number}" for number in range(40)))
    notes = await made(owner, "note", entity_type="note")
    (near,) = await made(owner, "near", entity_type="topic")
    await link(owner, *((leaf, "ABOUT", hub) for leaf in (*leaves, *notes)), (near, "ABOUT", hub))
    seen = []
    for offset in (0, 8, 16, 24):
        page = await owner.call("explore", mode="related", entity_id=hub, limit=8, offset=offset)
        assert (page["actual_total"], page["capped"], page["has_more"]) == (20, True, offset < 12)
        assert page["total"] == len(page["entities"])
        seen += [each["id"] for each in page["entities"]]
    assert len(seen) == len(set(seen)) == 20
    rare = await owner.call("explore", mode="related", entity_id=hub, types=["note"])
    assert ([each["id"] for each in rare["entities"]], rare["capped"]) == (notes, False)
    for mode in ("traverse", "dependencies"):
        beside = await owner.call("explore", mode=mode, entity_id=near, depth=3)
        assert (beside["actual_total"], beside["capped"]) == ((20, True) if mode == "traverse" else (0, False))
    listed = await owner.call("explore", limit=200)
    assert (listed["actual_total"], listed["capped"]) == (43, False)


@pytest.mark.parametrize(("mode", "depth"), [("related", 1), ("traverse", 1), ("traverse", 3)])
async def test_filters_apply_before_walk_limits(
    owner: Person, monkeypatch: pytest.MonkeyPatch, mode: str, depth: int
) -> None:
    monkeypatch.setattr(explore, "WALK_LIMIT", 20)
    (hub,) = await made(owner, "hub")
    leaves = await made(owner, *(f"leaf {number}" for number in range(40)), tags=["common"])
    rare: dict[str, dict[str, Any]] = {
        "tagged": {"tags": ["rare"]},
        "sorted": {"category": "rare"},
        "written": {"languages": ["rare"]},
        "doing": {"entity_type": "task", "metadata": {"status": "doing", "feature": "rare", "priority": "low"}},
    }
    for name, fields in rare.items():
        leaves += await made(owner, name, **fields)
    now = owner.app.clock()
    with owner.app.ledger.transaction(owner.organization_id, owner.user_id) as tx:
        for days, leaf in enumerate(leaves):
            tx.relations.add_relation(RelationDraft("ABOUT", leaf, hub, valid_at=now - timedelta(days=days)))
    await caught_up(owner)
    filters: list[tuple[dict[str, Any], str]] = [
        ({"tags": "rare"}, "tagged"), ({"category": "rare"}, "sorted"), ({"language": "rare"}, "written"),
        ({"status": "doing"}, "doing"), ({"feature": "rare"}, "doing"), ({"priority": "low"}, "doing"),
        ({"types": ["task"]}, "doing"), ({"no_epic": True}, "doing"),
    ]  # fmt: skip
    for given, name in filters:
        page = await owner.call("explore", mode=mode, depth=depth, entity_id=hub, **given)
        assert [each["name"] for each in page["entities"]] == [name], given
        assert page["capped"] is (depth > 1), "what is around the last leaves was not looked at"
        assert page["entities"][0]["relationship"] == "ABOUT"
    if depth == 1:
        for leaf in leaves[:30]:
            await owner.call("update_entity", entity_id=leaf, metadata={"status": "archived"})
        active = await owner.call("explore", mode=mode, entity_id=hub)
        assert (active["actual_total"], active["capped"]) == (len(leaves) - 30, False), "as with what is archived"
        for leaf in leaves[:30]:
            await owner.call("update_entity", entity_id=leaf, metadata={"status": None})
    full = await owner.call("explore", mode=mode, depth=depth, entity_id=hub, tags="common", limit=5)
    assert (full["total"], full["actual_total"], full["capped"]) == (5, 20, True)


async def test_a_hub_shows_doubly_linked_neighbours_once(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "WALK_LIMIT", 12)
    (hub,) = await made(owner, "hub")
    leaves = await made(owner, *(f"leaf {number}" for number in range(12)))
    await link(owner, *((hub, "ABOUT", leaf) for leaf in leaves), *((leaf, "REQUIRES", hub) for leaf in leaves))
    pages = [
        await owner.call("explore", mode="related", entity_id=hub, limit=5, offset=offset) for offset in (0, 5, 10)
    ]
    assert {each["id"] for page in pages for each in page["entities"]} == set(leaves)
    assert [(page["actual_total"], page["capped"]) for page in pages] == [(12, False)] * 3
    (more,) = await made(owner, "one more")
    await link(owner, (hub, "ABOUT", more))
    page = await owner.call("explore", mode="related", entity_id=hub)
    assert (page["actual_total"], page["capped"]) == (12, True)


async def test_dependencies_past_a_hub_keep_their_direction(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "WALK_LIMIT", 5)
    (hub,) = await made(owner, "hub")
    leaves = await made(owner, *(f"leaf {number}" for number in range(12)))
    needs, needed, other = await made(owner, "needs", "needed", "other", category="rare")
    then = owner.app.clock() - timedelta(days=1)
    await link(owner, *((hub, "DEPENDS_ON", leaf) for leaf in leaves), *((leaf, "REQUIRES", hub) for leaf in leaves))
    await link(owner, (needs, "BLOCKS", hub), (needed, "DEPENDS_ON", hub), (other, "ABOUT", hub), valid_at=then)
    found = await owner.call("explore", mode="dependencies", entity_id=hub, category="rare")
    assert set(rows(found)) == {("needs", "needs", "incoming", 1), ("needed", "needed_by", "incoming", 1)}
    assert found["capped"] is False


def pairs(row: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["relationship"], each["direction"]) for each in row["other_relations"]}


async def test_every_relation_of_a_pair_shows_in_its_one_row(owner: Person, member: Person) -> None:
    a, b, c = await made(owner, *"abc")
    now = owner.app.clock()
    await link(owner, (a, "DEPENDS_ON", b), valid_at=now - timedelta(days=1))
    await link(owner, (a, "RELATED_TO", b), (b, "RELATED_TO", a), (b, "ABOUT", c), valid_at=now - timedelta(days=2))
    await link(owner, (a, "RELATED_TO", b), (c, "TOUCHES", a), valid_at=now - timedelta(days=3))
    await link(owner, (a, "OWNS", b), visibility=f"private:{owner.user_id}", valid_at=now - timedelta(days=4))
    others = {("RELATED_TO", "outgoing"), ("RELATED_TO", "incoming")}
    for who, more in ((member, set[tuple[str, str]]()), (owner, {("OWNS", "outgoing")})):
        page = await who.call("explore", mode="related", entity_id=a)
        row, other = page["entities"]
        assert (row["id"], row["relationship"], row["direction"]) == (b, "DEPENDS_ON", "outgoing")
        assert pairs(row) == others | more
        assert len(row["other_relations"]) == len(others | more)
        assert (other["id"], other["other_relations"], page["actual_total"]) == (c, [], 2)
        (around,) = (await who.call("expand_neighbors", entity_ids=[a]))["results"]
        assert [pairs(each) for each in around["neighbors"]] == [others | more, set()]
    only = await owner.call("explore", mode="related", entity_id=a, relationship_types=["related_to", "OWNS"])
    (row,) = only["entities"]
    assert pairs(row) | {(row["relationship"], row["direction"])} == others | {("OWNS", "outgoing")}
    needs = await owner.call("explore", mode="dependencies", entity_id=a)
    assert [pairs(row) for row in needs["entities"]] == [set()], "they are no dependencies"
    listed = await owner.call("explore")
    assert [row["other_relations"] for row in listed["entities"]] == [[], [], []]


async def test_a_superseded_record_shows_beside_what_supersedes_it_and_where_that_is_asked_for(owner: Person) -> None:
    first, second, third, beside = await made(owner, "first", "second", "third", "beside")
    await link(owner, (third, "SUPERSEDES", second), (second, "SUPERSEDES", first))
    await link(owner, *((beside, "ABOUT", each) for each in (first, second, third)))

    async def shown(start: str, **fields: Any) -> set[tuple[str, int]]:
        page = await owner.call("explore", **{"mode": "related", "entity_id": start, **fields})
        assert page["actual_total"] == len(page["entities"])
        return {(each["name"], each["distance"]) for each in page["entities"]}

    assert await shown(third) == {("second", 1), ("beside", 1)}
    assert await shown(second) == {("first", 1), ("third", 1), ("beside", 1)}
    assert await shown(first) == {("second", 1), ("beside", 1)}
    assert await shown(beside) == {("third", 1)}
    far: dict[str, Any] = {"mode": "traverse", "depth": 3}
    assert await shown(third, **far) == {("second", 1), ("beside", 1)}
    assert await shown(third, **far, relationship_types=["supersedes"]) == {("second", 1), ("first", 2)}
    assert await shown(beside, **far, relationship_types=["ABOUT", "SUPERSEDES"]) == {("third", 1)}

    async def expanded(start: str, **fields: Any) -> set[str]:
        (around,) = (await owner.call("expand_neighbors", entity_ids=[start], **fields))["results"]
        return {each["name"] for each in around["neighbors"]}

    assert await expanded(third) == {"beside"}
    assert await expanded(third, relationship_types=["SUPERSEDES"], depth=2) == {"second", "first"}


async def test_an_unknown_relationship_is_refused_with_the_nearest(owner: Person) -> None:
    (start,) = await made(owner, "a")
    questions: dict[str, dict[str, Any]] = {
        "explore": {"mode": "related", "entity_id": start},
        "expand_neighbors": {"entity_ids": [start]},
    }
    for operation, fields in questions.items():
        for unknown, said in (("depend_on", "did you mean DEPENDS_ON?"), ("{zz}", "known are ABOUT, APPLIES_TO, ")):
            with pytest.raises(
                ValidationFailed, match=re.escape(f"{unknown} is not a relationship type; {said}")
            ) as no:
                await owner.call(operation, **fields, relationship_types=["ABOUT", unknown])
            assert no.value.details == {"field": "body.relationship_types.1", "expected": "a relationship type"}


async def test_expanding_finds_a_rare_type_beside_many_others(owner: Person) -> None:
    (hub,) = await made(owner, "hub")
    leaves = await made(owner, *(f"leaf {number}" for number in range(110)))
    leaves += await made(owner, *(f"leaf {number}" for number in range(110)))
    (rare,) = await made(owner, "rare", entity_type="topic")
    await link(owner, (hub, "ABOUT", rare), valid_at=owner.app.clock() - timedelta(days=1))
    await link(owner, *((hub, "ABOUT", leaf) for leaf in leaves))
    (around,) = (await owner.call("expand_neighbors", entity_ids=[hub]))["results"]
    assert (len(around["neighbors"]), around["capped"]) == (8, True)
    (around,) = (await owner.call("expand_neighbors", entity_ids=[hub], types=["topic"]))["results"]
    assert ([each["id"] for each in around["neighbors"]], around["capped"]) == ([rare], False)


async def test_records_that_only_the_graph_still_has_are_hidden(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = await made(owner, *"ab")
    await link(owner, (a, "ABOUT", b))
    with owner.app.indexer.indexes(owner.organization_id) as indexes:
        assert indexes.graph is not None
        before = indexes.graph.walks([a], depth=1, query=NeighbourQuery(frozenset({ORGANIZATION})))[a]
        monkeypatch.setattr(type(indexes.graph), "walks", lambda *_, **__: {a: before})
    assert [each.id for each in before.entities] == [b]
    await owner.call("update_entity", entity_id=b, metadata={"status": "archived"})
    page = await owner.call("explore", mode="related", entity_id=a)
    assert (page["entities"], page["actual_total"]) == ([], 0)
    await owner.call("delete_entity", entity_id=b)
    assert (await owner.call("explore", mode="related", entity_id=a, include_archived=True))["entities"] == []
