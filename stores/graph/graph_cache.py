"""In-memory copies of graphs: walks of three steps take a quarter of the engine's time."""

import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import structlog

from stores.index import IndexBatch
from stores.room import REST_SHARE, Room

if TYPE_CHECKING:
    import pyarrow as pa

    from stores.graph.adjacency import Adjacency

BYTES_PER_ENTITY, BYTES_PER_EDGE = 250, 130
FULL_REST_S = 600.0
"""Before a graph that does not fit is counted again."""
FEW_CHANGED, CHANGED_SHARE = 200, 0.05
"""Changed entities, and their share, above which a copy is dropped."""

log = structlog.get_logger("graph")


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

    def get(self) -> "Adjacency | None":
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
        from stores.graph.adjacency import Adjacency  # noqa: PLC0415 pyarrow is slow to import

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
