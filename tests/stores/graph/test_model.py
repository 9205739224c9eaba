"""The graph against a plain-Python model: whatever the order, the chunks and the interruptions, they agree."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from stores.graph import Direction, Edge, GraphIndex, NeighbourQuery
from stores.graph.neighbours import breadth_first
from stores.index import IndexBatch, Item
from stores.records import ORGANIZATION, Entity, Position, Relation
from tests.stores.graph.drafts import ENGINE, ENGINE_VARIABLE, NOW, entity, relation

HOUR = timedelta(hours=1)
IDS = [f"e{number}" for number in range(7)]
VISIBILITIES = st.sampled_from([ORGANIZATION, "private:u", "project:p"])
ENTITIES = st.builds(
    lambda entity_id, revision, visibility, kind, project_id: entity(
        entity_id, revision=revision, visibility=visibility, entity_type=kind, project_id=project_id
    ),
    st.sampled_from(IDS),
    st.integers(1, 100_000),
    VISIBILITIES,
    st.sampled_from(["task", "Note"]),
    st.sampled_from([None, "p", "q"]),
)
HOURS = st.integers(-2, 2).map(lambda hours: NOW + hours * HOUR)


@st.composite
def relations(draw: st.DrawFn) -> Relation:
    number = draw(st.integers(0, 14))
    return relation(
        f"r{number}",
        IDS[number % 7],
        IDS[(number * 3 + number // 7) % 7],  # one id always has the same ends, as in the ledger
        name=draw(st.sampled_from(["BLOCKS", "OWNS"])),
        visibility=draw(VISIBILITIES),
        valid_at=draw(HOURS),
        invalid_at=draw(st.none() | HOURS),
        expired_at=draw(st.none() | HOURS),
        created_at=draw(HOURS),
    )


SPANS = st.none() | st.tuples(HOURS, HOURS).filter(lambda span: span[0] < span[1])
QUERIES = st.builds(
    lambda as_of, span, **others: NeighbourQuery(
        **others, as_of=span[0] if span else as_of, until=span[1] if span else None
    ),
    span=SPANS,
    visibility=st.frozensets(VISIBILITIES),
    names=st.none() | st.frozensets(st.sampled_from(["BLOCKS", "OWNS"])),
    include_incoming=st.booleans(),
    incoming_names=st.none() | st.frozensets(st.sampled_from(["BLOCKS", "OWNS"])),
    as_of=st.none() | HOURS,
    limit_per_id=st.just(100),
    entity_types=st.none() | st.frozensets(st.sampled_from(["Task", "NOTE"]), min_size=1),
    project_ids=st.none() | st.frozensets(st.sampled_from(["p", "q"]), min_size=1),
)


@dataclass(frozen=True)
class Forget:
    id: str


Change = Entity | Relation | Forget
FORGET = st.builds(Forget, st.sampled_from([*IDS, *(f"r{number}" for number in range(15))]))
CHANGES = st.lists(st.one_of(ENTITIES, relations(), FORGET), min_size=1, max_size=12)
PAUSE = st.sampled_from(["go on", "learn", "learn", "checkpoint", "compact", "reopen"])
HISTORY = st.lists(st.tuples(CHANGES, PAUSE), min_size=1, max_size=10)


@dataclass
class Model:
    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)

    def take(self, change: Change) -> None:
        match change:
            case Entity():
                self.entities[change.id] = change
            case Relation():
                self.relations[change.id] = change
            case Forget():
                self.entities.pop(change.id, None)
                self.relations.pop(change.id, None)

    def edges(self) -> list[Relation]:
        ends = self.entities.keys()
        return [each for each in self.relations.values() if {each.source_id, each.target_id} <= ends]

    def neighbours(self, origin: str, query: NeighbourQuery) -> list[Edge]:
        found: list[tuple[Relation, str, Direction]] = []
        for edge in self.edges():
            if edge.source_id == origin and self.passes(edge, edge.target_id, origin, query):
                found.append((edge, edge.target_id, "outgoing"))
            back = query if query.incoming_names is None else replace(query, names=query.incoming_names)
            if query.include_incoming and edge.target_id == origin and self.passes(edge, edge.source_id, origin, back):
                found.append((edge, edge.source_id, "incoming"))
        found.sort(key=lambda seen: seen[0].id)
        found.sort(key=lambda seen: seen[0].valid_at, reverse=True)
        return [(origin, other, edge.name, direction) for edge, other, direction in found]

    def passes(self, edge: Relation, other: str, origin: str, query: NeighbourQuery) -> bool:
        far = self.entities[other]
        keys = {edge.visibility, far.visibility, self.entities[origin].visibility}
        kinds = None if query.entity_types is None else {kind.lower() for kind in query.entity_types}
        return (
            keys <= query.visibility
            and (query.names is None or edge.name in query.names)
            and (kinds is None or far.entity_type.lower() in kinds)
            and (query.project_ids is None or far.project_id in query.project_ids)
            and _true_at(edge, query)
        )


def _true_at(edge: Relation, query: NeighbourQuery) -> bool:
    moment = query.as_of or NOW
    if edge.invalid_at is not None and edge.invalid_at <= moment:
        return False
    if query.as_of is not None:
        return edge.valid_at <= moment if query.until is None else edge.valid_at < query.until
    if edge.valid_at > max(moment, edge.created_at):
        return False
    return edge.expired_at is None


def _open(folder: Path) -> GraphIndex:
    return GraphIndex(folder, engine=ENGINE, clock=lambda: NOW)


def _batch(changes: Iterable[Change], sequence: int) -> IndexBatch:
    last = {(type(change) is Relation or change.id.startswith("r"), change.id): change for change in changes}
    items = [
        Item(
            "relation" if change.id.startswith("r") else "entity",
            change.id,
            None if isinstance(change, Forget) else change,
        )
        for change in last.values()
    ]
    return IndexBatch(items, Position("epoch", sequence, f"batch {sequence}"))


def _agree(graph: GraphIndex, model: Model, queries: Sequence[NeighbourQuery]) -> None:
    assert graph.contents() == {each.id: each.revision for each in model.entities.values()}
    assert graph.relation_ids() == {edge.id for edge in model.edges()}
    for query in queries:
        found = graph.neighbours(IDS, query=query)
        assert found == [edge for origin in IDS for edge in model.neighbours(origin, query)]

        def one_by_one(ids: Sequence[str], query: NeighbourQuery = query) -> tuple[list[Edge], bool]:
            return graph.neighbours(ids, query=query), False

        for origin in IDS:
            plain = breadth_first(origin, depth=3, cap=100, neighbours=one_by_one)
            assert graph.walks([origin], depth=3, query=query, cap=100)[origin] == plain
            assert graph.walks([origin], depth=3, query=query, cap=2)[origin].entities == plain.entities[:2]


@settings(max_examples=20 if ENGINE_VARIABLE not in os.environ else 6, deadline=None)
@given(HISTORY, st.lists(QUERIES, min_size=1, max_size=4))
def test_any_history_gives_what_the_model_says(
    history: list[tuple[list[Change], str]], queries: list[NeighbourQuery]
) -> None:
    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        graph = _open(Path(folder, "graph"))
        for sequence, (changes, pause) in enumerate(history, start=1):
            graph.apply(_batch(changes, sequence))
            for change in changes:
                model.take(change)
            if pause == "learn":
                assert graph._cache.load()
            elif pause == "checkpoint":
                graph.checkpoint()
            elif pause == "compact":
                graph.compact()
            elif pause == "reopen":
                graph.close()
                graph = _open(Path(folder, "graph"))
            assert graph.position() == Position("epoch", sequence, f"batch {sequence}")
        _agree(graph, model, queries)
        graph.close()
        with closing(_open(Path(folder, "graph"))) as graph:
            assert graph._cache.load()
            _agree(graph, model, queries)


@settings(max_examples=6, deadline=None)
@given(CHANGES, st.data())
def test_replay_in_any_chunks_and_a_rebuild_give_the_same_graph(changes: list[Change], data: st.DataObject) -> None:
    model = Model()
    for change in changes:
        model.take(change)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(changes)))) | {0, len(changes)})
    everything = NeighbourQuery(frozenset({ORGANIZATION, "private:u", "project:p"}))
    with tempfile.TemporaryDirectory() as folder, closing(_open(Path(folder, "graph"))) as graph:
        for start, end in pairwise(cuts):
            graph.apply(_batch(changes[start:end], end))
        for start, end in pairwise(cuts[1:]):  # a replay, as after a crash
            graph.apply(_batch(changes[start:end], end))
        _agree(graph, model, [everything])
        graph.load([list(model.entities.values())], [list(model.relations.values())], Position("epoch", 1, ""))
        _agree(graph, model, [everything])
