"""When edges are read from the cached copy, and when by the engine; that they are the same is tested by the model."""

from typing import Any

import pytest

from stores.graph import GraphIndex
from tests.stores.graph.drafts import EVERYTHING, batch, entities, entity, relation

SECRET = "private:somebody"


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
