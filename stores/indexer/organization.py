"""Open organizations: their lanes, waiters and readers, and which of them stay open."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from stores.errors import NotFound
from stores.graph import GraphIndex
from stores.indexer.embedding_worker import EmbeddingWorker
from stores.indexer.feed import Feed
from stores.indexer.feed_track import graph_adapter, lexical_adapter
from stores.indexer.folders import Closing, OrganizationFolder, Watermark
from stores.indexer.lane import Lane
from stores.indexer.options import IndexerOptions, IndexName, IndexStatus
from stores.indexer.track import Surroundings
from stores.indexer.vector_track import vector_adapter
from stores.ledger import Ledger
from stores.lexical import LexicalIndex, layout
from stores.room import Room
from stores.vectors import VectorIndex

GRAPH_TIMEOUT_S = 3.0
"""A graph after an unclean stop is tried by a child process first."""
VECTORS_TIMEOUT_S = 0.5
"""A model may take seconds to load."""


@dataclass(frozen=True, slots=True)
class OpenIndexes:
    """Indexes to search in; None where one cannot be searched now."""

    lexical: LexicalIndex | None
    graph: GraphIndex | None
    vectors: VectorIndex | None
    degraded: Set[IndexName]
    """Missing and incomplete ones."""


@dataclass(frozen=True, slots=True)
class Shared:
    ledger: Ledger
    options: IndexerOptions
    clock: Callable[[], datetime]
    builders: Executor
    graph_room: Room
    vector_room: Room
    turns: EmbeddingWorker | None
    progressed: Callable[[str], None]


class Waits:
    """Waiters for writes, as futures. The result names the indexes without the write. Thread-safe."""

    def __init__(self, missing: Callable[[int, Sequence[str]], tuple[list[str], bool]]) -> None:
        self._missing = missing
        self._waiters: dict[Future[list[str]], tuple[int, Sequence[str]]] = {}
        self._over = False

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, sequence: int, record_ids: Sequence[str]) -> "Future[list[str]]":
        done: Future[list[str]] = Future()
        self._waiters[done] = sequence, record_ids
        self._settle(done, sequence, record_ids)
        return done

    def review(self) -> None:
        """Answer those whose write is indexed, or will not be."""
        for done, (sequence, record_ids) in self._waiters.copy().items():
            self._settle(done, sequence, record_ids)

    def end(self) -> None:
        """Answer all, and later ones at once."""
        self._over = True
        self.review()

    def _settle(self, done: "Future[list[str]]", sequence: int, record_ids: Sequence[str]) -> None:
        names, is_hopeful = self._missing(sequence, record_ids)
        if is_hopeful and not done.done() and not self._over:
            return
        self._waiters.pop(done, None)
        # It may be cancelled, or answered by another thread.
        with suppress(InvalidStateError):
            done.set_result(names)


class OpenOrganization:
    """Lanes of one open organization. Thread-safe."""

    def __init__(self, organization_id: str, files: OrganizationFolder, shared: Shared) -> None:
        self.id = organization_id
        self._shared = shared
        self._files = files
        options, feed = shared.options, Feed(shared.ledger, organization_id, shared.options)
        around = Surroundings(
            organization_id, shared.ledger, feed, files, options, shared.builders, files.mark_open(), shared.clock,
            head=lambda: self.head, progressed=self._progressed, waiting=lambda: len(self.waits),
        )  # fmt: skip
        self.waits = Waits(self.missing)
        self.lexical = Lane(lexical_adapter(), around)
        self.graph = Lane(graph_adapter(options.graph_engine, shared.clock, shared.graph_room), around)
        self.vectors = (
            Lane(vector_adapter(shared.turns, shared.vector_room), around) if shared.turns is not None else None
        )
        self.lanes: tuple[Lane[Any], ...] = (self.lexical, self.graph, *([self.vectors] if self.vectors else []))
        self.head = 0
        self.opened_at = self.used_at = time.monotonic()
        self._lock = threading.Lock()
        self._users = 0
        self._discarded = False

    def start(self) -> None:
        for lane in self.lanes:
            lane.start()

    def wake(self, sequence: int) -> None:
        self.head = max(self.head, sequence)
        self.used_at = time.monotonic()
        for lane in self.lanes:
            lane.wake()

    def hold(self) -> None:
        """Keep the organization open until `let_go`."""
        with self._lock:
            self._users += 1
            self.used_at = time.monotonic()

    def let_go(self) -> None:
        with self._lock:
            self._users -= 1

    @property
    def held(self) -> bool:
        return self._users > 0

    @property
    def busy(self) -> bool:
        return self._works or self._tidies

    @property
    def may_be_put_off(self) -> bool:
        """Closing would delay token vectors and erasing only."""
        return self._tidies and not self._works and not len(self.waits)

    @property
    def _tidies(self) -> bool:
        return any(lane.tidies for lane in self.lanes)

    @property
    def _works(self) -> bool:
        if any(lane.busy or not lane.wait_settled(0) for lane in self.lanes):
            return True
        return any(not lane.contains(self.head) for lane in self.lanes if lane.waitable)

    def drop_vectors(self) -> None:
        """Remove vectors where there is no model any more."""
        if self.vectors is None:
            self._files.sweep("vectors", ())

    def wait_settled(self, timeout_s: float) -> bool:
        return self.lexical.wait_settled(timeout_s) and self.graph.wait_settled(min(timeout_s, GRAPH_TIMEOUT_S))

    def wait(self, sequence: int, record_ids: Sequence[str]) -> "Future[list[str]]":
        """Wait for a write; the future has the names of the indexes without it."""
        waiting = self.waits.add(sequence, record_ids)
        if not waiting.done():
            # Lanes may know of the write, but gather more before they apply it.
            self.wake(sequence)
        return waiting

    def applied(self, sequence: int, record_ids: Sequence[str] = ()) -> bool:
        return not self.missing(sequence, record_ids)[1]

    def missing(self, sequence: int, record_ids: Sequence[str]) -> tuple[list[str], bool]:
        """Return the indexes without a write, and whether one of them will hold it soon."""
        without = [lane for lane in self.lanes if not lane.contains(sequence, record_ids)]
        return [lane.name for lane in without], any(lane.waitable for lane in without)

    def watermark(self) -> int:
        """Return the sequence number up to which every healthy index is complete."""
        marks = [lane.status(self.head).watermark for lane in self.lanes if lane.waitable]
        return min(marks, default=0)

    def status(self) -> list[IndexStatus]:
        return [lane.status(self.head) for lane in self.lanes]

    @property
    def level(self) -> bool:
        return all(each.state == "failed" or (each.state == "ready" and not each.pending) for each in self.status())

    @contextmanager
    def lend(self) -> Iterator[OpenIndexes]:
        if self.vectors is not None:
            self.vectors.wait_settled(VECTORS_TIMEOUT_S)
        held = {lane.name: lane.acquire() for lane in self.lanes}
        missing = {name for name, handle in held.items() if handle is None}
        open_ = {name: handle.index for name, handle in held.items() if handle is not None}
        try:
            yield OpenIndexes(open_.get("lexical"), open_.get("graph"), open_.get("vectors"), missing | self.degraded())
        finally:
            for handle in held.values():
                if handle is not None:
                    handle.release()

    def degraded(self) -> set[IndexName]:
        return {lane.name for lane in self.lanes if lane.is_partial}

    def stop(self) -> None:
        for lane in self.lanes:
            lane.stop()

    def close(self, timeout_s: float) -> bool:
        """Close the indexes and record their watermarks; False on timeout."""
        self.stop()
        until = time.monotonic() + timeout_s
        ended = sum(lane.join(max(0.0, until - time.monotonic())) for lane in self.lanes) == len(self.lanes)
        self.waits.end()
        with self._lock:
            if ended and not self._discarded:
                self._files.mark_closed(self.closing())
        return ended

    def discard(self, timeout_s: float) -> bool:
        """Close the indexes without recording anything; False on timeout."""
        with self._lock:
            self._discarded = True
        return self.close(timeout_s)

    def closing(self) -> Closing:
        marks: dict[str, Watermark] = {lane.name: mark for lane in self.lanes if (mark := lane.recorded) is not None}
        turns = self._shared.turns
        closing = Closing(self._shared.ledger.feed.epoch, "", marks, words=layout())
        if turns is None or "vectors" not in marks:
            return closing
        return replace(closing, model=turns.embedder.model, tokens=turns.token_label)

    def _progressed(self) -> None:
        self.waits.review()
        self._shared.progressed(self.id)


class Registry:
    """LRU of open organizations. Closing waits for threads and is left to `close_surplus`."""

    def __init__(self, make: Callable[[str], OpenOrganization], options: IndexerOptions) -> None:
        self._make = make
        self._options = options
        self._changed = threading.Condition()
        self._open: dict[str, OpenOrganization] = {}
        self._leaving: dict[str, OpenOrganization] = {}
        self.discarded: set[str] = set()
        """Deleted organizations. Only grows."""
        self._closed = False

    def get(self, organization_id: str) -> OpenOrganization | None:
        with self._changed:
            return self._open.get(organization_id)

    def find(self, organization_id: str) -> OpenOrganization | None:
        with self._changed:
            return self._open.get(organization_id) or self._leaving.get(organization_id)

    def known(self) -> list[OpenOrganization]:
        with self._changed:
            return [*self._open.values(), *self._leaving.values()]

    def hold(self, organization_id: str, timeout_s: float) -> OpenOrganization:
        """Open an organization and keep it open until `let_go`, or raise TimeoutError, RuntimeError or NotFound."""
        with self._changed:

            def is_decided() -> bool:
                return self._closed or organization_id in self.discarded or organization_id not in self._leaving

            if not self._changed.wait_for(is_decided, timeout_s):
                raise TimeoutError(f"Organization {organization_id} is still being closed.")
            if self._closed:
                raise RuntimeError("The indexer is closed.")
            if organization_id in self.discarded:
                raise NotFound(f"Organization {organization_id} does not exist.")
            found = self._open.get(organization_id)
            if found is None:
                found = self._open[organization_id] = self._make(organization_id)
            found.hold()
            return found

    def hold_if_open(self, organization_id: str) -> OpenOrganization | None:
        with self._changed:
            found = self._open.get(organization_id)
            if found is not None:
                found.hold()
            return found

    def has_room(self, *, is_urgent: bool) -> bool:
        """Return whether another one may be opened; an urgent one also where all are busy, up to twice the limit."""
        with self._changed:
            limit = self._options.open_limit * (2 if is_urgent else 1)
            return len(self._open) < limit or any(not each.held and not each.busy for each in self._open.values())

    def close_surplus(self, note: Callable[[OpenOrganization], None]) -> None:
        while victim := self._choose():
            victim.close(timeout_s=60)
            note(victim)
            self._left(victim)

    def discard(self, organization_id: str, timeout_s: float) -> bool:
        """Close an organization for good; False while a lane runs or somebody reads."""
        with self._changed:
            self.discarded.add(organization_id)
            victim = self._open.pop(organization_id, None) or self._leaving.get(organization_id)
            if victim is not None:
                self._leaving[organization_id] = victim
        if victim is None:
            return True
        ended = victim.discard(timeout_s) and not victim.held
        if ended:
            self._left(victim)
        return ended

    def stop(self) -> list[OpenOrganization]:
        with self._changed:
            self._closed = True
            found = list(self._open.values())
            self._changed.notify_all()
        for each in found:
            each.stop()
        return found

    def _left(self, victim: OpenOrganization) -> None:
        with self._changed:
            self._leaving.pop(victim.id, None)
            self._changed.notify_all()

    def _choose(self) -> OpenOrganization | None:
        with self._changed:
            surplus = len(self._open) - self._options.open_limit
            if surplus <= 0 or self._closed:
                return None
            victim = self._least_wanted(crowded=surplus > self._options.open_limit)
            if victim is not None:
                del self._open[victim.id]
                self._leaving[victim.id] = victim
            return victim

    def _least_wanted(self, *, crowded: bool) -> OpenOrganization | None:
        free = [each for each in self._open.values() if not each.held]
        # Token vectors and erasing go on when there is room again.
        idle = [each for each in free if not each.busy] or [each for each in free if each.may_be_put_off]
        if not idle and crowded:
            now = time.monotonic()
            idle = [each for each in free if now - each.opened_at >= self._options.busy_quantum_s]
        return min(idle, key=lambda each: each.used_at, default=None)
