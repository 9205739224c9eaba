"""The graph index of one organization: follows the feed, answers what is related to what."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from stores.graph import gate
from stores.graph.applying import write
from stores.graph.engine import MIB, Engine, Session
from stores.graph.files import building_path, database_path, remove_strangers, replace_graph
from stores.graph.nearby import Arrays, Nearby, Room
from stores.graph.neighbours import Edge, Neighbour, NeighbourQuery, hop, ring
from stores.graph.schema import (
    ALL_ENTITIES,
    CONTENTS,
    COUNT_DANGLING,
    COUNT_EDGES,
    COUNT_ENTITIES,
    EXPORT_EDGES,
    GET_POSITION,
    RELATION_IDS,
)
from stores.graph.sessions import Sessions
from stores.graph.walk import Bounds, Front, Walk, breadth_first
from stores.index import IndexBatch
from stores.records import Entity, Position, Relation

_CHECKPOINT_TRANSACTIONS = 1_000
_CHECKPOINT_RECORDS = 20_000
_BURIED_SHARE = 0.1
_BYTES_PER_RECORD = 1_024
WALK_CAP = 500
MEMORY_MB = 128
"""What graphs may take in memory for walks, where their opener has no other budget."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class GraphIndex:
    """One graph on disk. Writes come from one thread; reads from any, also while a write is under way."""

    name = "graph"

    def __init__(
        self, folder: Path, engine: Engine, buffer_pool_mb: int, clock: Callable[[], datetime], room: Room
    ) -> None:
        self._folder = folder
        self._engine: Engine = engine
        self._clock = clock
        self._gate = gate.Gate()
        self._closed = False
        self._transactions = 0
        self._records = 0
        self._worth_counting = True
        folder.mkdir(parents=True, exist_ok=True)
        remove_strangers(folder, self._path)
        self._sessions = Sessions(self._path, engine, buffer_pool_mb)
        self._nearby = Nearby(room, self._count, self._export)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        engine: Engine = "ladybug",
        buffer_pool_mb: int = 64,
        clock: Callable[[], datetime] = _utc_now,
        room: Room | None = None,
    ) -> "GraphIndex":
        """Open or create the graph in a folder of its own.

        The buffer pool is a floor; a large graph gets more. The clock tells what is current. Graphs that share a room
        share the memory in which they are walked.

        Raises:
            RuntimeError: The graph is open already, here or in another process, or the engine cannot read it.
            InvalidSetting: The other engine is loaded in this process.
        """
        gate.claim(folder)
        try:
            return cls(folder, engine, buffer_pool_mb, clock, room or Room(MEMORY_MB * MIB))
        except BaseException:
            gate.release(folder)
            raise

    @property
    def _path(self) -> Path:
        return database_path(self._folder, self._engine)

    def position(self) -> Position | None:
        """How far the feed has been applied; None for a fresh index."""
        with self._reading() as session:
            rows = session.rows(GET_POSITION)
        return Position(*rows[0]) if rows else None

    def contents(self) -> Mapping[str, int]:
        """Every entity id and its revision."""
        with self._reading() as session:
            table = session.table(CONTENTS)
        return dict(zip(table["id"].to_pylist(), table["revision"].to_pylist(), strict=True))

    def relation_ids(self) -> set[str]:
        """The id of every relation whose two ends are in the graph, expired ones included."""
        with self._reading() as session:
            return set(session.table(RELATION_IDS)["id"].to_pylist())

    def dangling(self) -> int:
        """Count the relations that are skipped because an end of theirs is absent."""
        with self._reading() as session:
            return int(session.rows(COUNT_DANGLING)[0][0])

    def neighbours(self, ids: Sequence[str], *, query: NeighbourQuery) -> list[Neighbour]:
        """Follow one edge from each id, in the order of the ids; per id the latest `valid_at` first.

        An id that is unknown or not visible has no neighbours. Costs one look-up per id and direction, and time in
        proportion to the edges an id has where few of them pass the filter.
        """
        around = self._hop(ids, query)
        return [neighbour for found in around.values() for neighbour in found[: query.limit_per_id]]

    def walk(
        self, entity_id: str, *, depth: int, query: NeighbourQuery, cap: int = WALK_CAP, most_around: int | None = None
    ) -> Walk:
        """Visit what lies within one to three edges, nearest first, at most `cap` entities."""
        return self.walks((entity_id,), depth=depth, query=query, cap=cap, most_around=most_around)[entity_id]

    def walks(
        self,
        entity_ids: Iterable[str],
        *,
        depth: int,
        query: NeighbourQuery,
        cap: int = WALK_CAP,
        most_around: int | None = None,
    ) -> dict[str, Walk]:
        """Walk from each of several entities, by where it starts. What two walks pass is looked up once.

        The neighbours of about `most_around` entities are looked up for each walk (None: as many as the cap lets).
        """
        if not 1 <= depth <= 3:
            raise ValueError("depth must be 1, 2 or 3")
        arrays = self._nearby.arrays(depth)
        known: dict[str, Sequence[Neighbour]] = {}

        def around(ids: Sequence[str]) -> tuple[Sequence[Edge], bool]:
            if arrays is not None:
                return self._near(arrays, ids, query)
            known.update(self._hop([id_ for id_ in ids if id_ not in known], query))
            shown = [neighbour.edge for id_ in ids for neighbour in known[id_][: query.limit_per_id]]
            return shown, any(len(known[id_]) > query.limit_per_id for id_ in ids)

        def walked(start: str) -> Walk:
            if arrays is not None and arrays.has((start,)):
                bounds = Bounds(depth, cap, math.inf if most_around is None else most_around, arrays.has)
                if (walk := arrays.adjacency.walk(start, bounds, query, self._clock())) is not None:
                    return walk
            found = partial(self._ring, arrays, start, query)
            return breadth_first(start, depth=depth, cap=cap, neighbours=around, ring=found, most_around=most_around)

        return {start: walked(start) for start in entity_ids}

    def _hop(self, ids: Iterable[str], query: NeighbourQuery) -> dict[str, list[Neighbour]]:
        """Follow the edges of each entity; where there are more than the limit, one too many is returned."""
        origins = dict.fromkeys(ids)
        if query.finds_nothing():
            return {origin_id: [] for origin_id in origins}
        now = self._clock()
        with self._reading() as session:
            return {origin_id: hop(session, origin_id, query, now) for origin_id in origins}

    def _ring(
        self, arrays: Arrays | None, start_id: str, query: NeighbourQuery, front: Front
    ) -> tuple[Sequence[Edge], int] | None:
        """Follow the edges of all that lies so many steps from an entity, if that can be done at once."""
        if arrays is not None:
            return self._arrive(arrays, front, query)
        now = self._clock()
        with self._reading() as session:
            found = ring(session, start_id, front.distance, query, now) if session.follows_paths else None
        return None if found is None else (found, len(found))

    def _arrive(self, arrays: Arrays, front: Front, query: NeighbourQuery) -> tuple[Sequence[Edge], int] | None:
        here, others = arrays.divide(front.ids)
        found = arrays.adjacency.arrive(here, front, query, self._clock())
        if found is None or not others:
            return found
        asked = self._hop(others, query).values()
        shown = [each.edge for hops in asked for each in hops]
        is_cut = any(len(hops) > query.limit_per_id for hops in asked)
        return None if is_cut else ([*found[0], *shown], found[1] + len(shown))

    def _near(self, arrays: Arrays, ids: Sequence[str], query: NeighbourQuery) -> tuple[Sequence[Edge], bool]:
        """Follow the edges of entities in memory, and by the engine those that are not there as they are now.

        Tells whether some entity had more than the limit.
        """
        here, others = arrays.divide(ids)
        found = arrays.adjacency.follow(here, query, self._clock())
        if not others:
            return found
        asked = self._hop(others, query).values()
        shown = [each.edge for hops in asked for each in hops[: query.limit_per_id]]
        return [*found[0], *shown], found[1] or any(len(hops) > query.limit_per_id for hops in asked)

    def apply(self, batch: IndexBatch) -> None:
        """Make the batch visible to reads and advance the position, in one commit.

        At the first error nothing of the batch is kept and the error is raised.
        """
        with self._gate.shared():
            self._check_open()
            with self._transaction() as session:
                ends = write(session, batch)
                self._nearby.changing(ends)
            self._nearby.changed(ends, batch)
        self._transactions += 1
        self._records += _size(batch)
        self._worth_counting = True
        if self._transactions >= _CHECKPOINT_TRANSACTIONS or self._records >= _CHECKPOINT_RECORDS:
            self.checkpoint()

    def load(
        self, entities: Iterable[Sequence[Entity]], relations: Iterable[Sequence[Relation]], position: Position
    ) -> None:
        """Replace the whole graph by these records, each id once. Reads see the old one until the new one is ready."""
        from stores.graph import bulk  # noqa: PLC0415 pyarrow is slow to import

        self._rebuild(bulk.entity_tables(entities), bulk.edge_tables(relations), position)

    def learn(self) -> bool:
        """Read the graph into memory now, where walks are several times faster; False where it has no room.

        Otherwise a thread does that once enough walks have asked for it.
        """
        return self._nearby.learn()

    @property
    def erasable(self) -> int:
        """None: there is no text of a record in it."""
        return 0

    def prepare(self) -> None:
        """Have a large graph in memory when it is walked; returns at once."""
        self._nearby.prepare()

    def checkpoint(self) -> None:
        """Move the log into the graph file; reads wait meanwhile (about a second at 200,000 edges)."""
        with self._gate.exclusive():
            self._check_open()
            self._sessions.writer.command("CHECKPOINT")
            self._transactions = self._records = 0
            self._sessions.grow_pool()

    def compact(self) -> None:
        """Checkpoint, or rebuild the file where buried records or dead space make it worth it."""
        if self._worth_counting and self._is_wasteful():
            from stores.graph import bulk  # noqa: PLC0415 pyarrow is slow to import

            position = self.position()
            with self._reading() as session:
                entities, edges = bulk.exported_tables(session)
            self._rebuild(entities, edges, position)
        elif self._transactions:
            self.checkpoint()
        self._worth_counting = False

    def close(self) -> None:
        """Checkpoint and release the file; a second call does nothing."""
        self._nearby.close()
        with self._gate.exclusive():
            if self._closed:
                return
            self._closed = True
            try:
                self._sessions.close(checkpoint=self._transactions > 0)
            finally:
                gate.release(self._folder)

    def _count(self) -> tuple[int, int]:
        """Count the entities and the edges, the buried ones too."""
        with self._reading() as session:
            entities, edges = (session.rows(statement)[0][0] for statement in (COUNT_ENTITIES, COUNT_EDGES))
        return int(entities), int(edges)

    def _export(self) -> tuple[Any, Any]:
        """Read every entity, and every edge that is not buried. An entity that comes between the two has its place."""
        with self._reading() as session:
            edges = session.table(EXPORT_EDGES)
            return session.table(ALL_ENTITIES), edges

    def _is_wasteful(self) -> bool:
        with self._reading() as session:
            counts: list[list[Any]] = [session.rows(statement)[0] for statement in (COUNT_ENTITIES, COUNT_EDGES)]
        records = sum(int(row[0]) for row in counts)
        buried = sum(int(row[1] or 0) for row in counts)
        dead_space = self._path.stat().st_size > 16 * MIB + _BYTES_PER_RECORD * records
        return dead_space or buried > _BURIED_SHARE * records

    def _rebuild(self, entities: Iterable[Any], edges: Iterable[Any], position: Position | None) -> None:
        from stores.graph import bulk  # noqa: PLC0415 pyarrow is slow to import

        building = building_path(self._folder, self._engine)
        try:
            bulk.build(building, self._engine, entities, edges, position)
            with self._gate.exclusive():
                self._check_open()
                self._sessions.reopen(lambda: replace_graph(building, self._path))
                self._nearby.forget()
        finally:
            bulk.discard(building)
        self._transactions = self._records = 0

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"The graph in {self._folder} is closed.")

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with self._gate.shared():
            self._check_open()
            with self._sessions.reader() as session:
                yield session

    @contextmanager
    def _transaction(self) -> Iterator[Session]:
        """Commit at the end, or roll back and drop the connection.

        After an error the engine has left the transaction, and a next statement would commit by itself (K6).
        """
        session = self._sessions.writer
        try:
            session.command("BEGIN TRANSACTION")
            yield session
            session.command("COMMIT")
        except BaseException:
            with suppress(RuntimeError):
                session.command("ROLLBACK")
            self._sessions.renew_writer()
            raise


def _size(batch: IndexBatch) -> int:
    return len(batch.entities) + len(batch.deleted_entities) + len(batch.relations) + len(batch.deleted_relations)
