"""Batches that are applied as lists: what is new and what is known, in one, as if it came one by one."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stores.graph import GraphIndex
from stores.records import Relation
from tests.stores.graph.drafts import ENGINE, EVERYTHING, NOW, batch, entities, entity, relation

IDS = [f"e{number}" for number in range(30)]


def ring(*, until: datetime | None = None) -> list[Relation]:
    return [
        relation(f"r{source}", source, target, name="BLOCKS", valid_at=NOW - timedelta(days=at), invalid_at=until)
        for at, (source, target) in enumerate(zip(IDS, IDS[1:] + IDS[:1], strict=True))
    ]


def shown(graph: GraphIndex) -> list[object]:
    return [graph.contents(), graph.relation_ids(), graph.neighbours(IDS, query=EVERYTHING)]


def test_a_list_leaves_the_graph_as_single_records_do(graph: GraphIndex, tmp_path: Path) -> None:
    later = NOW + timedelta(days=9)
    changed = [*ring(until=later)[:15], *(relation(f"n{each}", each, IDS[5]) for each in IDS[10:])]
    newer = [*(entity(each, revision=2) for each in IDS[:12]), *entities([f"new{number}" for number in range(12)])]
    with closing(GraphIndex(tmp_path / "single", engine=ENGINE, clock=lambda: NOW)) as single:
        for each in entities(IDS):
            single.apply(batch([each]))
        for link in ring():
            single.apply(batch([], [link]))
        for each in newer:
            single.apply(batch([each]))
        for link in changed:
            single.apply(batch([], [link]))
        graph.apply(batch(entities(IDS), ring()))
        graph.apply(batch(newer, changed))
        assert shown(graph) == shown(single)
        graph.apply(batch(newer, changed))
        assert shown(graph) == shown(single), "a list may come again"
        graph.checkpoint()
        assert shown(graph) == shown(single)


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(987, 6, 5, 4, 3, 2, 1, tzinfo=UTC)])
def test_moments_of_a_list_are_kept_to_the_microsecond(graph: GraphIndex, moment: datetime) -> None:
    end, instant = NOW + timedelta(microseconds=7), timedelta(microseconds=1)
    graph.apply(batch(entities(IDS), [replace(link, valid_at=moment) for link in ring(until=end)]))

    def is_linked(at: datetime) -> bool:
        return bool(graph.neighbours(IDS[:1], query=replace(EVERYTHING, as_of=at)))

    assert is_linked(moment)
    assert is_linked(end - instant)
    assert not is_linked(end)
    assert moment.year == 1 or not is_linked(moment - instant)
