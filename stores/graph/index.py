"""Graph index of one organization."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stores.clock import Clock, utc_now
from stores.folder import claim, release
from stores.graph import schema
from stores.graph.engine import MIB, Engine, Session, Sessions, database_path, discard, remove_strangers
from stores.graph.graph_cache import GraphCache
from stores.graph.neighbours import AT_ONCE, Edge, NeighbourQuery, Walk, breadth_first, hop
from stores.index import IndexBatch
from stores.records import Entity, Position, Relation
from stores.room import Room

_CHECKPOINT_TRANSACTIONS = 1_000
_CHECKPOINT_RECORDS = 20_000
_BURIED_SHARE = 0.1
_BYTES_PER_RECORD = 1_024
_LOAD_POOL_MB = 1_024
_WORTH_A_LIST = 8
"""New records from which they are written as one list, in a tenth of the time."""
_AT_ONCE_IN_MEMORY = 64
WALK_CAP = 500
MEMORY_MB = 128


class GraphIndex:
    """Graph on disk, with one writing thread and any number of readers."""

    def __init__(
        self,
        folder: Path,
        *,
        engine: Engine = "ladybug",
        buffer_pool_mb: int = 64,
        clock: Clock = utc_now,
        room: Room | None = None,
    ) -> None:
        """Open or create the graph in a folder of its own. Graphs share a room for copies.

        RuntimeError if it is open already or unreadable, InvalidSetting if the other engine is loaded.
        """
        self._folder = folder
        self._engine: Engine = engine
        self._clock = clock
        self._transactions = 0
        self._records = 0
        self._cache = GraphCache(room or Room(MEMORY_MB * MIB), self._count, self._export)
        claim(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_strangers(folder, self._path)
            self._sessions = Sessions(self._path, engine, buffer_pool_mb)
        except BaseException:
            release(folder)
            raise

    @property
    def _path(self) -> Path:
        return database_path(self._folder, self._engine)

    def position(self) -> Position | None:
        with self._sessions.reader() as session:
            rows = session.rows(schema.GET_POSITION)
        return Position(*rows[0]) if rows else None

    def contents(self) -> Mapping[str, int]:
        with self._sessions.reader() as session:
            table = session.table(schema.CONTENTS)
        return dict(zip(table["id"].to_pylist(), table["revision"].to_pylist(), strict=True))

    def relation_ids(self) -> set[str]:
        """Both ends are in the graph; expired relations included."""
        with self._sessions.reader() as session:
            return set(session.table(schema.RELATION_IDS)["id"].to_pylist())

    def neighbours(self, ids: Sequence[str], *, query: NeighbourQuery) -> list[Edge]:
        """Return the edges of each id, per id the latest `valid_at` first.

        An unknown or invisible id has none. Costs one look-up per id, and reads all edges of a hub.
        """
        around = self._hop(ids, query)
        return [edge for found in around.values() for edge in found[: query.limit_per_id]]

    def walks(
        self,
        entity_ids: Iterable[str],
        *,
        depth: int,
        query: NeighbourQuery,
        cap: int = WALK_CAP,
        most_around: int | None = None,
    ) -> dict[str, Walk]:
        """Walk from entities, each to at most `cap` others within one to three edges, nearest first; return by start.

        Each walk takes at most `most_around` look-ups.
        """
        if not 1 <= depth <= 3:
            raise ValueError("depth must be 1, 2 or 3")
        copy = self._cache.get() if depth > 1 else None
        most = math.inf if most_around is None else most_around
        known: dict[str, Sequence[Edge]] = {}
        now = self._clock()

        def around(ids: Sequence[str]) -> tuple[Sequence[Edge], bool]:
            if copy is not None:
                known.update(copy.edges([each for each in ids if each not in known], query, now))
            known.update(self._hop([each for each in ids if each not in known], query))
            shown = [edge for id_ in ids for edge in known[id_][: query.limit_per_id]]
            return shown, any(len(known[id_]) > query.limit_per_id for id_ in ids)

        at_once = AT_ONCE if copy is None else _AT_ONCE_IN_MEMORY
        return {
            start: breadth_first(start, depth=depth, cap=cap, neighbours=around, most_around=most, at_once=at_once)
            for start in entity_ids
        }

    def _hop(self, ids: Iterable[str], query: NeighbourQuery) -> dict[str, list[Edge]]:
        origins = dict.fromkeys(ids)
        if not origins or query.finds_nothing():
            return {origin_id: [] for origin_id in origins}
        now = self._clock()
        with self._sessions.reader() as session:
            return {origin_id: hop(session, origin_id, query, now) for origin_id in origins}

    def apply(self, batch: IndexBatch) -> None:
        """Apply the batch and advance the position, in one commit, or change nothing."""
        with self._sessions.transaction() as session:
            ends = _write(session, batch)
        self._cache.follow(ends, batch)
        self._transactions += 1
        self._records += len(batch.items)
        if self._transactions >= _CHECKPOINT_TRANSACTIONS or self._records >= _CHECKPOINT_RECORDS:
            self.checkpoint()

    def load(
        self, entities: Iterable[Sequence[Entity]], relations: Iterable[Sequence[Relation]], position: Position
    ) -> None:
        """Write the graph anew, checkpointed; reads wait. Ids are unique."""
        from stores.graph import bulk  # noqa: PLC0415 pyarrow is slow to import

        with self._sessions.alone():
            self._sessions.reopen(lambda: discard(self._path), _LOAD_POOL_MB)
            try:
                writer = self._sessions.writer
                bulk.fill(writer, entities, relations)
                writer.rows(schema.PUT_POSITION, **schema.position_values(position))
                writer.command("CHECKPOINT")
            finally:
                self._sessions.reopen()
                self._transactions = self._records = 0
            self._cache.drop()

    @property
    def erasable(self) -> int:
        """Always 0: the graph holds no text."""
        return 0

    def prepare(self) -> None:
        """Do nothing: a walk reads the graph into memory when it needs to."""

    def checkpoint(self) -> None:
        """Move the log into the graph file; blocks reads (a second at 200,000 edges)."""
        with self._sessions.alone():
            self._sessions.writer.command("CHECKPOINT")
            self._transactions = self._records = 0
            self._sessions.grow_pool()

    def compact(self) -> bool:
        """Checkpoint; return whether the file has many buried records or much dead space."""
        if self._transactions:
            self.checkpoint()
        counts = self._counts()
        records = sum(int(count) for count, _ in counts)
        buried = sum(int(buried or 0) for _, buried in counts)
        dead_space = self._path.stat().st_size > 16 * MIB + _BYTES_PER_RECORD * records
        return dead_space or buried > _BURIED_SHARE * records

    def close(self) -> None:
        """Checkpoint and release the file. Idempotent."""
        self._cache.close()
        with self._sessions.alone():
            if self._sessions.is_closed:
                return
            try:
                if self._transactions:
                    self._sessions.writer.command("CHECKPOINT")
            finally:
                self._sessions.close()
                release(self._folder)

    def _counts(self) -> list[list[Any]]:
        with self._sessions.reader() as session:
            return [session.rows(statement)[0] for statement in (schema.COUNT_ENTITIES, schema.COUNT_EDGES)]

    def _count(self) -> tuple[int, int]:
        entities, edges = (int(count) for count, _ in self._counts())
        return entities, edges

    def _export(self) -> tuple[Any, Any]:
        with self._sessions.reader() as session:
            edges = session.table(schema.EXPORT_EDGES)  # First, so that every end of an edge is among the entities.
            return session.table(schema.ALL_ENTITIES), edges


def _write(session: Session, batch: IndexBatch) -> set[str]:
    """Write a batch and its position; return the ends of all changed edges."""
    # No COPY: ladybug 0.22 does not log it, so a kill would lose the edges and keep the position.
    relations = batch.relations
    ends = {end for relation in relations for end in (relation.source_id, relation.target_id)}
    for entity in _known_entities(session, batch.entities):
        session.rows(schema.PUT_ENTITY, **schema.entity_values(entity))
    for entity_id in batch.gone("entity"):
        session.rows(schema.BURY_ENTITY, id=entity_id)
    for relation in _known_relations(session, relations):
        _put_relation(session, relation)
    for relation_id in batch.gone("relation"):
        for source_id, target_id in session.rows(schema.FIND_LINK, id=relation_id):
            session.rows(schema.BURY_EDGE, id=relation_id, source_id=source_id, target_id=target_id)
            ends.update((source_id, target_id))
    session.rows(schema.PUT_POSITION, **schema.position_values(batch.position))
    return ends


def _known_entities(session: Session, entities: Sequence[Entity]) -> Sequence[Entity]:
    if not session.finds_rows_by_key or len(entities) < _WORTH_A_LIST:
        return entities
    known = _existing(session, [entity.id for entity in entities])
    if fresh := [schema.row(schema.entity_values(entity)) for entity in entities if entity.id not in known]:
        session.rows(schema.CREATE_ENTITIES, rows=fresh)
    return [entity for entity in entities if entity.id in known]


def _known_relations(session: Session, relations: Sequence[Relation]) -> Sequence[Relation]:
    if not session.finds_rows_by_key or len(relations) < _WORTH_A_LIST:
        return relations
    known = {row[0] for row in session.rows(schema.FIND_LINKS, ids=[relation.id for relation in relations])}
    fresh = [relation for relation in relations if relation.id not in known]
    if not fresh:
        return relations
    ends = list(dict.fromkeys(end for relation in fresh for end in (relation.source_id, relation.target_id)))
    for end in set(ends) - _existing(session, ends):
        session.rows(schema.PUT_STAND_IN, id=end)
    rows = [schema.row(schema.edge_values(relation)) for relation in fresh]
    session.rows(schema.CREATE_LINKS, rows=rows)
    session.rows(schema.CREATE_EDGES, rows=rows)
    return [relation for relation in relations if relation.id in known]


def _existing(session: Session, entity_ids: Sequence[str]) -> set[str]:
    return {row[0] for row in session.rows(schema.FIND_ENTITIES, ids=list(entity_ids))}


def _put_relation(session: Session, relation: Relation) -> None:
    values = schema.edge_values(relation)
    if session.rows(schema.FIND_LINK, id=relation.id) and session.rows(schema.UPDATE_EDGE, **values):
        return
    if not session.rows(schema.CREATE_EDGE, **values):
        for end in (relation.source_id, relation.target_id):
            session.rows(schema.PUT_STAND_IN, id=end)
        session.rows(schema.CREATE_EDGE, **values)
    session.rows(schema.PUT_LINK, id=relation.id, source_id=relation.source_id, target_id=relation.target_id)
