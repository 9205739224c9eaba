"""Walks of the cached copy equal those of the engine, whatever is applied before, during and after the read."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stores.graph import GraphIndex, NeighbourQuery, Room, Walk, graph_cache
from stores.graph.neighbours import Edge
from stores.graph.walk import breadth_first
from stores.records import ORGANIZATION, Position, Relation
from tests.stores.graph.drafts import ENGINE, EVERYTHING, NOW, batch, entities, entity, relation

HOUR = timedelta(hours=1)
SECRET = "private:somebody"
IDS = [f"n{number}" for number in range(60)]
QUERIES = [
    EVERYTHING,
    replace(EVERYTHING, visibility=frozenset({ORGANIZATION, SECRET})),
    replace(EVERYTHING, names=frozenset({"OWNS", "nothing"})),
    replace(EVERYTHING, names=frozenset({"OWNS"}), incoming_names=frozenset({"BLOCKS"})),
    replace(EVERYTHING, include_incoming=False),
    replace(EVERYTHING, as_of=NOW - HOUR),
    replace(EVERYTHING, as_of=NOW - HOUR, until=NOW + 2 * HOUR),
    replace(EVERYTHING, entity_types=frozenset({"Task"})),
    replace(EVERYTHING, project_ids=frozenset({"p"})),
    NeighbourQuery(frozenset()),
]


def web() -> list[Relation]:
    times: list[dict[str, Any]] = [
        {},
        {"valid_at": NOW - 2 * HOUR, "invalid_at": NOW + HOUR},
        {"valid_at": NOW - 2 * HOUR, "invalid_at": NOW - HOUR / 2},
        {"valid_at": NOW + HOUR, "created_at": NOW + 2 * HOUR},
        {"valid_at": NOW + HOUR},
        {"expired_at": NOW},
    ]
    return [
        relation(
            f"r{number}", IDS[number * 7 % 60], IDS[(number * number + number // 3) % 60],
            name=("OWNS", "BLOCKS", "ABOUT")[number % 3],
            visibility=SECRET if number % 11 == 0 else ORGANIZATION,
            **times[number % 8 % 6],
        )
        for number in range(150)
    ]  # fmt: skip


@pytest.fixture
def learnt(graph: GraphIndex) -> GraphIndex:
    there = [
        entity(
            each,
            entity_type=("task", "note")[number % 2],
            visibility=SECRET if number % 9 == 0 else ORGANIZATION,
            project_id="p" if number % 4 else None,
        )
        for number, each in enumerate(IDS[:55])
    ]
    graph.load([there], [web()], Position("epoch", 1, ""))
    assert graph._cache.load()
    return graph


def plain(graph: GraphIndex, start: str, query: NeighbourQuery, cap: int = 500) -> Walk:

    def around(ids: Sequence[str]) -> tuple[list[Edge], bool]:
        return [each.edge for each in graph.neighbours(ids, query=replace(query, limit_per_id=500))], False

    return breadth_first(start, depth=3, cap=cap, neighbours=around)


def agree(graph: GraphIndex, *starts: str) -> None:
    assert graph._cache._copy is not None, "the walks are taken in memory"
    for query in QUERIES:
        for start in starts or IDS:
            assert graph.walk(start, depth=3, query=query) == plain(graph, start, query), (start, query)


def test_a_walk_in_memory_is_the_one_that_the_engine_takes(learnt: GraphIndex) -> None:
    agree(learnt)
    for cap in (1, 3, 10):
        for start in IDS[:10]:
            walk = learnt.walk(start, depth=3, query=EVERYTHING, cap=cap)
            whole = plain(learnt, start, EVERYTHING)
            assert walk.entities == plain(learnt, start, EVERYTHING, cap).entities == whole.entities[:cap]
            assert walk.capped or len(whole.entities) <= cap
    assert learnt.walk("nobody", depth=3, query=EVERYTHING).entities == ()


def test_what_is_applied_after_the_reading_shows_in_the_next_walk(learnt: GraphIndex) -> None:
    changes = [
        batch([entity("n1", visibility=SECRET, revision=2)]),
        batch([entity("n2", entity_type="other", project_id="p2", visibility="team:new")]),
        batch(gone=["n3"]),
        batch(entities(["new", *IDS[55:]]), [relation("x", "new", "n5"), relation("y", "n6", "new", name="NEW")]),
        batch(severed=["r4", "unknown"]),
        batch(relations=[relation("r5", *("n10", "n11"), invalid_at=NOW), relation("r7", "n12", "n13")]),
    ]
    for number, change in enumerate(changes):
        learnt.apply(replace(change, position=Position("epoch", number + 2, "")))
        agree(learnt, "n1", "n2", "n3", "n5", "n10", "new")
    agree(learnt)


def test_past_a_limit_the_engine_walks(learnt: GraphIndex) -> None:
    leaves = [f"leaf{number}" for number in range(40)]
    spokes = [relation(each, each, "n1", valid_at=NOW - number * HOUR) for number, each in enumerate(leaves)]
    learnt.apply(batch(entities(leaves), spokes))
    assert learnt._cache.load()
    walk = learnt.walk("leaf9", depth=2, query=replace(EVERYTHING, limit_per_id=5))
    assert walk.capped
    assert len(walk.entities) <= 6


def test_a_batch_during_the_read_is_not_lost(graph: GraphIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.apply(batch(entities("abcd"), [relation("1", "a", "b")]))
    read = graph._export

    def slowly() -> Any:
        tables = read()
        graph.apply(batch([entity("b", visibility=SECRET)], [relation("2", "a", "c")], sequence=2))
        return tables

    monkeypatch.setattr(graph._cache, "_read", slowly)
    assert not graph._cache.load()
    assert [each.id for each in graph.walk("a", depth=2, query=EVERYTHING).entities] == ["c"]


def test_the_least_recently_walked_graph_is_evicted(tmp_path: Path) -> None:
    room = Room(2 * graph_cache.BYTES_PER_ENTITY * 3)

    def opened(name: str, size: int) -> GraphIndex:
        graph = GraphIndex.open(tmp_path / name, engine=ENGINE, clock=lambda: NOW, room=room)
        graph.apply(batch(entities(f"e{number}" for number in range(size))))
        return graph

    with closing(opened("a", 3)) as a, closing(opened("b", 3)) as b, closing(opened("c", 3)) as c:
        assert [graph._cache.load() for graph in (a, b)] == [True, True]
        a.walk("e0", depth=2, query=EVERYTHING)
        assert c._cache.load()
        assert [graph._cache._copy is not None for graph in (a, b, c)] == [True, False, True]
        with closing(opened("d", 7)) as d:
            assert not d._cache.load()
            assert d.walk("e0", depth=2, query=EVERYTHING).entities == ()
        a.close()
        assert b._cache.load()
        assert c._cache._copy is not None, "closing gives the memory back"


def test_where_reading_fails_the_engine_walks(graph: GraphIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.apply(batch(entities("ab"), [relation("1", "a", "b")]))

    def fail() -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(graph._cache, "_read", fail)
    for _ in range(2):
        assert len(graph.walk("a", depth=3, query=EVERYTHING).entities) == 1
    graph._cache._thread.join()
    assert graph._cache._copy is None
    assert not graph._cache._room._sizes
