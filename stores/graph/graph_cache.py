"""Copies of graphs in memory: walks of three steps take a quarter of the engine's time.

A copy has adjacency lists in numpy: places number entities, codes number strings.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import structlog

from stores.graph.neighbours import Direction, Edge, NeighbourQuery
from stores.graph.schema import BURIED, OPEN_ENDED, stored_time
from stores.index import IndexBatch
from stores.records import Entity
from stores.room import REST_SHARE, Room

if TYPE_CHECKING:
    import pyarrow as pa

BYTES_PER_ENTITY, BYTES_PER_EDGE = 250, 130
FULL_REST_S = 600.0
"""Before a graph that does not fit is counted again."""
FEW_CHANGED, CHANGED_SHARE = 200, 0.05
"""Changed entities, and their share, above which a copy is dropped."""

log = structlog.get_logger("graph")

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_WAYS: tuple[Direction, Direction] = ("incoming", "outgoing")
_ENDS = ("source_id", "target_id")
_TIMES = ("created_at", "expired_at", "valid_at", "invalid_at")
_NEVER = np.datetime64(OPEN_ENDED, "us").astype(np.int64)


class Adjacency:
    """`put` and `bury` keep entities current; `changed` names those with newer edges."""

    def __init__(self, ids: list[str], first: Ints, edges: Mapping[str, npt.NDArray[Any]]) -> None:
        self.changed: set[str] = set()
        self._ids = ids
        self._places = {each: place for place, each in enumerate(ids)}
        self._first = first
        self._edges = edges
        self._words: list[str] = []
        self._codes: dict[str, int] = {}
        self._visibility, self._types, self._projects = (np.zeros(len(ids), np.int32) for _ in range(3))

    @classmethod
    def of(cls, entities: "pa.Table", edges: "pa.Table") -> Self:
        """Build from all entities, buried ones too, and all edges."""
        import pyarrow.compute as pc  # noqa: PLC0415 slow to import

        ids = entities["id"].combine_chunks()
        ends = [pc.index_in(edges[name], value_set=ids).to_numpy().astype(np.int64) for name in _ENDS]
        times = {name: edges[name].cast("timestamp[us]").cast("int64").to_numpy() for name in _TIMES}
        rank = np.empty(len(edges), np.int64)
        rank[pc.sort_indices(edges["id"]).to_numpy()] = np.arange(len(edges))
        order = np.lexsort((np.tile(rank, 2), -np.tile(times["valid_at"], 2), np.concatenate(ends)))
        both = order % max(len(edges), 1)
        columns = {
            "other": np.concatenate(ends[::-1])[order].astype(np.int32),
            "is_outgoing": order < len(edges),
            "is_closed": (times["expired_at"] != _NEVER)[both],
            "has_begun": (times["valid_at"] <= times["created_at"])[both],
            "valid_at": times["valid_at"][both],
            "invalid_at": times["invalid_at"][both],
        }
        first = np.searchsorted(np.concatenate(ends)[order], np.arange(len(ids) + 1))
        made = cls(ids.to_pylist(), first, columns)
        for name in ("name", "visibility"):
            columns[name] = made._coded(edges[name])[both]
        made._visibility = made._coded(entities["visibility"])
        made._types, made._projects = made._coded(entities["entity_type"]), made._coded(entities["project_id"])
        return made

    def __len__(self) -> int:
        return len(self._ids)

    def put(self, entity: Entity) -> None:
        if (place := self._places.get(entity.id)) is not None:
            self._types[place] = self._code(entity.entity_type.lower())
            self._projects[place] = self._code(entity.project_id or "")
            self._visibility[place] = self._code(entity.visibility)

    def bury(self, entity_id: str) -> None:
        if (place := self._places.get(entity_id)) is not None:
            self._visibility[place] = self._code(BURIED)

    def edges(self, ids: Iterable[str], query: NeighbourQuery, now: datetime) -> dict[str, list[Edge]]:
        """Return the edges of each entity whose edges are unchanged, ordered and limited as those of `hop`."""
        found = {each: list[Edge]() for each in ids if each in self._places and each not in self.changed}
        origins, visible = list(found), self._table(query.visibility)
        places = np.array([self._places[each] for each in origins], np.int64)
        at = self._first[places]
        counts = np.where(_is_in(visible, self._visibility[places]), self._first[places + 1] - at, 0)
        rows = np.repeat(at - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        kept = self._passes(rows, query, visible, now)
        rows, whose = rows[kept], np.repeat(np.arange(len(places)), counts)[kept]
        within = np.arange(len(rows)) - np.searchsorted(whose, whose) <= query.limit_per_id
        columns = (self._edges[name][rows[within]].tolist() for name in ("other", "name", "is_outgoing"))
        for origin, other, name, outgoing in zip(whose[within].tolist(), *columns, strict=True):
            id_ = origins[origin]
            found[id_].append((id_, self._ids[other], self._words[name], _WAYS[outgoing]))
        return found

    def _passes(self, rows: Ints, query: NeighbourQuery, visible: Bools, now: datetime) -> Bools:
        edges = self._edges
        moment = _moment(query.as_of or now)
        passes = (edges["invalid_at"][rows] > moment) & _is_in(visible, edges["visibility"][rows])
        if query.as_of is None:
            begun = (edges["valid_at"][rows] <= moment) | edges["has_begun"][rows]
            passes &= begun & ~edges["is_closed"][rows]
        elif query.until is None:
            passes &= edges["valid_at"][rows] <= moment
        else:
            passes &= edges["valid_at"][rows] < _moment(query.until)
        passes &= self._is_named(rows, query)
        others = edges["other"][rows]
        passes &= _is_in(visible, self._visibility[others])
        if query.entity_types is not None:
            passes &= _is_in(self._table(each.lower() for each in query.entity_types), self._types[others])
        if query.project_ids is not None:
            passes &= _is_in(self._table(query.project_ids), self._projects[others])
        return passes

    def _is_named(self, rows: Ints, query: NeighbourQuery) -> Bools:
        is_outgoing = self._edges["is_outgoing"][rows]
        passes = np.zeros(len(rows), np.bool_)
        for way in query.ways:
            named = is_outgoing if way == "outgoing" else ~is_outgoing
            if (names := query.names_towards(way)) is not None:
                named = named & _is_in(self._table(names), self._edges["name"][rows])
            passes |= named
        return passes

    def _table(self, words: Iterable[str]) -> Bools:
        wanted = [code for word in words if (code := self._codes.get(word)) is not None]
        table = np.zeros(len(self._words) + 1, np.bool_)
        table[wanted] = True
        return table

    def _coded(self, words: "pa.ChunkedArray") -> Codes:
        found = words.combine_chunks().dictionary_encode()
        codes: Codes = np.array([self._code(word) for word in found.dictionary.to_pylist()] or [0], np.int32)
        coded: Codes = codes[found.indices.to_numpy()]
        return coded

    def _code(self, word: str) -> int:
        if (code := self._codes.get(word)) is None:
            self._words.append(word)
            code = self._codes[word] = len(self._words) - 1
        return code


def _is_in(table: Bools, codes: Codes) -> Bools:
    return table.take(codes, mode="clip")


def _moment(at: datetime) -> int:
    return int(np.datetime64(stored_time(at), "us").astype(np.int64))


class GraphCache:
    """Copy of one graph."""

    def __init__(
        self, room: Room, count: Callable[[], tuple[int, int]], read: "Callable[[], tuple[pa.Table, pa.Table]]"
    ) -> None:
        self._room = room
        self._count = count
        self._read = read
        self._lock = threading.Lock()
        self._copy: Adjacency | None = None
        self._commits = 0
        self._thread: threading.Thread | None = None
        self._not_before = 0.0
        self._closed = False

    def get(self) -> Adjacency | None:
        """Return the copy; where there is none, start reading one."""
        if (copy := self._copy) is not None:
            self._room.use(self)
        else:
            self._read_soon()
        return copy

    def follow(self, ends: Collection[str], batch: IndexBatch) -> None:
        with self._lock:
            self._commits += 1
            if (copy := self._copy) is None:
                return
            copy.changed.update(ends)
            for entity in batch.entities:
                copy.put(entity)
            for entity_id in batch.gone("entity"):
                copy.bury(entity_id)
            is_old = len(copy.changed) > max(FEW_CHANGED, CHANGED_SHARE * len(copy))
        if is_old:
            self.drop()

    def load(self) -> bool:
        """Read the graph; False where it does not fit, or was written to meanwhile."""
        begin, commits, is_current = time.monotonic(), self._commits, False
        entities, edges = self._count()
        if not self._room.take(self, BYTES_PER_ENTITY * entities + BYTES_PER_EDGE * edges):
            self._not_before = begin + FULL_REST_S
            return False
        try:
            copy = Adjacency.of(*self._read())
            with self._lock:
                is_current = commits == self._commits and not self._closed
                if is_current:
                    self._copy = copy
        finally:
            if not is_current:
                self.drop()
            end = time.monotonic()
            self._not_before = end + REST_SHARE * (end - begin)
        return is_current

    def drop(self) -> None:
        with self._lock:
            self._copy = None
            self._commits += 1
        self._room.leave(self)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            thread.join()
        self.drop()

    def _read_soon(self) -> None:
        with self._lock:
            is_reading = self._thread is not None and self._thread.is_alive()
            if self._closed or is_reading or time.monotonic() < self._not_before:
                return
            self._thread = threading.Thread(target=self._run, name="graph cache", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self.load()
        except Exception:  # the thread's edge: walks go on without it
            log.exception("graph_not_cached")
