from collections.abc import Sequence

import pytest

from stores.graph import GraphIndex, Reached, neighbours
from stores.graph.neighbours import Edge, breadth_first
from tests.stores.graph.drafts import EVERYTHING, batch, entities, relation


@pytest.fixture
def chain(graph: GraphIndex) -> GraphIndex:
    relations = [
        relation("1", "a", "b", name="BLOCKS"), relation("2", "c", "b", name="OWNS"),
        relation("3", "c", "d", name="OWNS"), relation("4", "d", "e", name="OWNS"),
    ]  # fmt: skip
    graph.apply(batch(entities("abcde"), relations))
    return graph


def test_a_walk_tells_the_distance_and_the_way_it_came(chain: GraphIndex) -> None:
    walk = chain.walks(["a"], depth=3, query=EVERYTHING)["a"]
    assert walk.entities == (
        Reached("b", 1, "BLOCKS", "outgoing"),
        Reached("c", 2, "OWNS", "incoming"),
        Reached("d", 3, "OWNS", "outgoing"),
    )
    assert not walk.capped


def test_a_walk_says_when_it_stopped_at_the_cap(chain: GraphIndex) -> None:
    walk = chain.walks(["a"], depth=3, query=EVERYTHING, cap=2)["a"]
    assert [reached.id for reached in walk.entities] == ["b", "c"]
    assert walk.capped
    assert not chain.walks(["a"], depth=3, query=EVERYTHING, cap=3)["a"].capped


def test_a_walk_looks_nobody_up_once_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fan(ids: Sequence[str]) -> tuple[list[Edge], bool]:
        asked.extend(ids)
        edges = [(each, f"{each}/{number}") for each in ids for number in range(100)]
        return [(each, other, "OWNS", "outgoing") for each, other in edges], False

    reached = breadth_first("a", depth=3, cap=1_000, neighbours=fan)
    assert (len(reached.entities), reached.capped) == (1_000, True)
    assert len(asked) == 1 + neighbours.AT_ONCE
    assert [each.distance for each in reached.entities] == [1] * 100 + [2] * 900

    def back(ids: Sequence[str]) -> tuple[list[Edge], bool]:
        found, cut = fan(ids)
        return [*found, *((origin, "a", name, way) for origin, _, name, way in found)] if ids == ["a"] else (
            found,
            cut,
        )[0] * 2, cut

    monkeypatch.setattr(neighbours, "MOST_EDGES", 150)
    assert not breadth_first("a", depth=1, cap=1_000, neighbours=back).capped
    assert breadth_first("a", depth=2, cap=1_000, neighbours=back).capped


def test_walks_from_several_places_are_those_from_each(chain: GraphIndex) -> None:
    chain.apply(batch(relations=[relation("5", "a", "c"), relation("6", "a", "b")]))
    walks = chain.walks("dabx", depth=2, query=EVERYTHING)
    assert walks == {start: chain.walks([start], depth=2, query=EVERYTHING)[start] for start in "dabx"}
    assert {start for start, walk in walks.items() if walk.entities} == set("dab")
    assert chain.walks([], depth=1, query=EVERYTHING) == {}
    for depth in (0, 4):
        with pytest.raises(ValueError, match="depth"):
            chain.walks("a", depth=depth, query=EVERYTHING)
