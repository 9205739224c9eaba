"""When edges are read from the cached copy, and when by the engine; that they are the same is tested by the model."""

from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stores.graph import GraphIndex, graph_cache
from stores.room import Room
from tests.stores.graph.drafts import ENGINE, EVERYTHING, NOW, batch, entities, entity, relation

SECRET = "private:somebody"


def test_the_limit_of_a_hub_holds_in_memory_as_well(graph: GraphIndex) -> None:
    leaves = [f"leaf{number}" for number in range(40)]
    spokes = [relation(each, each, "hub", valid_at=NOW - timedelta(hours=at)) for at, each in enumerate(leaves)]
    graph.apply(batch(entities(["hub", *leaves]), spokes))
    assert graph._cache.load()
    walk = graph.walks(["leaf9"], depth=2, query=replace(EVERYTHING, limit_per_id=5))["leaf9"]
    assert walk.capped
    assert [each.id for each in walk.entities] == ["hub", *leaves[:5]]


def test_a_batch_during_the_read_is_not_lost(graph: GraphIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.apply(batch(entities("abcd"), [relation("1", "a", "b")]))
    read = graph._export

    def slowly() -> Any:
        tables = read()
        graph.apply(batch([entity("b", visibility=SECRET)], [relation("2", "a", "c")], sequence=2))
        return tables

    monkeypatch.setattr(graph._cache, "_read", slowly)
    assert not graph._cache.load()
    assert [each.id for each in graph.walks(["a"], depth=2, query=EVERYTHING)["a"].entities] == ["c"]


def test_the_least_recently_walked_graph_is_evicted(tmp_path: Path) -> None:
    room = Room(2 * graph_cache.BYTES_PER_ENTITY * 3)

    def opened(name: str, size: int) -> GraphIndex:
        graph = GraphIndex(tmp_path / name, engine=ENGINE, clock=lambda: NOW, room=room)
        graph.apply(batch(entities(f"e{number}" for number in range(size))))
        return graph

    with closing(opened("a", 3)) as a, closing(opened("b", 3)) as b, closing(opened("c", 3)) as c:
        assert [graph._cache.load() for graph in (a, b)] == [True, True]
        a.walks(["e0"], depth=2, query=EVERYTHING)["e0"]
        assert c._cache.load()
        assert [graph._cache._copy is not None for graph in (a, b, c)] == [True, False, True]
        with closing(opened("d", 7)) as d:
            assert not d._cache.load()
            assert d.walks(["e0"], depth=2, query=EVERYTHING)["e0"].entities == ()
        a.close()
        assert b._cache.load()
        assert c._cache._copy is not None, "closing gives the memory back"


def test_where_reading_fails_the_engine_walks(graph: GraphIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.apply(batch(entities("ab"), [relation("1", "a", "b")]))

    def fail() -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(graph._cache, "_read", fail)
    for _ in range(2):
        assert len(graph.walks(["a"], depth=3, query=EVERYTHING)["a"].entities) == 1
    graph._cache._thread.join()
    assert graph._cache._copy is None
    assert not graph._cache._room._sizes
