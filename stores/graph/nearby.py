"""A graph in memory for walks: read whole from the engine when walks ask for it, and kept in step with what is applied.

Where edges have changed since, the engine is asked about the entities at their ends, until those are so many that all
is read anew.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from stores.index import IndexBatch

if TYPE_CHECKING:
    import pyarrow as pa

    from stores.graph.adjacency import Adjacency

BYTES_PER_ENTITY, BYTES_PER_EDGE = 250, 65
ENOUGH = 100
"""Walks of one step before a graph is read into memory; a longer one counts for so many."""
LARGE = 5_000
"""Edges from which a graph is read before it is walked: the engine takes longest with large ones."""
REST_SHARE = 20.0
"""After a reading, so many times what it took passes before the next one."""
FULL_REST_S = 600.0
"""How long a graph that has no room stays with the engine before its size is looked at again."""
FEW_CHANGED, CHANGED_SHARE = 200, 0.05
"""Entities, and the share of all, of which the engine is asked before all is read anew."""
MOST_BATCHES = 50
"""Batches that a reading may be behind; with more it is given up."""

log = structlog.get_logger("graph")


class Room:
    """One budget of memory for many graphs: those that were walked last stay. Safe to use from any thread."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._lock = threading.Lock()
        self._sizes: OrderedDict[Nearby, int] = OrderedDict()

    def take(self, owner: "Nearby", size: int) -> bool:
        """Give a graph its place, at the cost of those that were walked longest ago; False where it is too large."""
        if size > self._budget:
            return False
        dropped: list[Nearby] = []
        with self._lock:
            self._sizes[owner] = size
            self._sizes.move_to_end(owner)
            while sum(self._sizes.values()) > self._budget:
                dropped.append(self._sizes.popitem(last=False)[0])
        for each in dropped:
            each.forget()
        return True

    def has(self, size: int) -> bool:
        """Tell whether there is room for so much more."""
        with self._lock:
            return sum(self._sizes.values()) + size <= self._budget

    def use(self, owner: "Nearby") -> None:
        """Note that a graph is walked."""
        with self._lock:
            if owner in self._sizes:
                self._sizes.move_to_end(owner)

    def leave(self, owner: "Nearby") -> None:
        """Give a place back."""
        with self._lock:
            self._sizes.pop(owner, None)


@dataclass(frozen=True, slots=True)
class Arrays:
    """What is in memory, and which entities to ask the engine about instead."""

    adjacency: "Adjacency"
    changed: set[str]

    def has(self, entity_ids: Iterable[str]) -> bool:
        """Tell whether the edges of all these are here as they are now."""
        return all(each in self.adjacency and each not in self.changed for each in entity_ids)

    def divide(self, entity_ids: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return those whose edges are here as they are now, and the others."""
        here: list[str] = []
        others: list[str] = []
        for each in entity_ids:
            (here if each in self.adjacency and each not in self.changed else others).append(each)
        return here, others


@dataclass(slots=True, eq=False)
class _Reading:
    """What was applied since a reading began."""

    changed: set[str] = field(default_factory=set)
    batches: list[IndexBatch] = field(default_factory=list)


class Nearby:
    """The arrays of one graph. What is applied comes from one thread; everything else may come from any."""

    def __init__(
        self, room: Room, count: Callable[[], tuple[int, int]], read: "Callable[[], tuple[pa.Table, pa.Table]]"
    ) -> None:
        """Take the budget, and how to count and to read the entities and the edges of the graph."""
        self._room = room
        self._count = count
        self._read = read
        self._lock = threading.Lock()
        self._arrays: Arrays | None = None
        self._reading: _Reading | None = None
        self._thread: threading.Thread | None = None
        self._not_before = 0.0
        self._walks = 0
        self._closed = False

    def arrays(self, depth: int) -> Arrays | None:
        """Return what is in memory for a walk; where there is nothing, have it read once it is worth that."""
        arrays = self._arrays
        if arrays is not None:
            self._room.use(self)
            return arrays
        self._walks += 1 if depth == 1 else ENOUGH
        if self._walks >= ENOUGH and time.monotonic() >= self._not_before:
            self._begin()
        return None

    def prepare(self) -> None:
        """Have a large graph read before anybody walks it, where there is room that no other graph has."""
        if self._arrays is None and time.monotonic() >= self._not_before:
            entities, edges = self._count()
            if edges >= LARGE and self._room.has(_size(entities, edges)):
                self._begin()

    def learn(self) -> bool:
        """Read the graph into memory; False where it has no room, or was dropped meanwhile."""
        begin = time.monotonic()
        with self._lock:
            reading = self._reading = _Reading()
        fits = False
        try:
            fits = self._takes_room()
            return fits and self._learn(reading)
        finally:
            end = time.monotonic()
            rest_s = REST_SHARE * (end - begin) if fits else FULL_REST_S
            with self._lock:
                self._not_before, self._walks = end + rest_s, 0
                if self._reading is reading:
                    self._reading = None
                is_empty = self._arrays is None
            if is_empty:
                self._room.leave(self)

    def changing(self, ends: Collection[str]) -> None:
        """Prepare for a commit that changes the edges of these entities: from now on the engine is asked about them."""
        with self._lock:
            for each in (self._arrays, self._reading):
                if each is not None:
                    each.changed.update(ends)

    def changed(self, ends: Collection[str], batch: IndexBatch) -> None:
        """Follow what was committed."""
        with self._lock:
            if self._reading is not None:
                # Whoever began to read after the other call may have read what was before.
                self._reading.changed.update(ends)
                self._reading.batches.append(batch)
            if self._arrays is not None:
                _follow(self._arrays.adjacency, batch)
                is_old = len(self._arrays.changed) > max(FEW_CHANGED, CHANGED_SHARE * len(self._arrays.adjacency))
            else:
                is_old = self._reading is not None and len(self._reading.batches) > MOST_BATCHES
        if is_old:
            self.forget()

    def forget(self) -> None:
        """Drop what is in memory, and what is being read."""
        with self._lock:
            self._arrays = self._reading = None
        self._room.leave(self)

    def close(self) -> None:
        """Drop everything and read no more; waits for a reading that is under way."""
        with self._lock:
            self._closed = True
            thread = self._thread
        self.forget()
        if thread is not None:
            thread.join()

    def _begin(self) -> None:
        with self._lock:
            if self._closed or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._run, name="graph into memory", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self.learn()
        except Exception:  # the thread's edge: walks go on without it
            log.exception("graph_not_in_memory")

    def _takes_room(self) -> bool:
        return self._room.take(self, _size(*self._count()))

    def _learn(self, reading: _Reading) -> bool:
        from stores.graph.adjacency import Adjacency  # noqa: PLC0415 pyarrow is slow to import

        adjacency = Adjacency.of(*self._read())
        with self._lock:
            if self._reading is not reading:
                return False
            for batch in reading.batches:
                _follow(adjacency, batch)
            self._arrays = Arrays(adjacency, reading.changed)
        return True


def _size(entities: int, edges: int) -> int:
    return BYTES_PER_ENTITY * entities + BYTES_PER_EDGE * 2 * edges


def _follow(adjacency: "Adjacency", batch: IndexBatch) -> None:
    """Follow changes of entities; those of edges are known by their ends."""
    for entity in batch.entities:
        adjacency.put(entity)
    for entity_id in batch.deleted_entities:
        adjacency.bury(entity_id)
