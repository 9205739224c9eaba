"""Embedding queue of one organization: records of the feed or of a refill, until they are in the index.

A record is queued, read, embedded in one or more turns, and collected. Interactive ones come first. Each is at most
once on its way; one that changes meanwhile is queued again when it is collected.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from stores.embedding import Passage
from stores.indexer.backlog import Backlog, Progress
from stores.records import Change, Entity, searchable_text
from stores.vectors import EmbeddedPassage, EmbeddedRecord

if TYPE_CHECKING:
    from stores.embedding.embedder import Vectors

READY_RECORDS = 48
"""Records read ahead of the model, of either kind."""
AT_ONCE = 16


@dataclass(slots=True, eq=False)
class Work:
    record_id: str
    interactive: bool
    covers: int
    """Sequence number up to which it has all changes of the record."""
    entity: Entity | None = None
    text: str = ""
    passages: Sequence[Passage] = ()
    vectors: "list[Vectors]" = field(default_factory=list)
    failures: int = 0
    """In a row. After one, the record takes its turn alone."""
    rests_until: float = 0.0

    def take_in(self, entity: Entity | None, divide: Callable[[str], Sequence[Passage]]) -> None:
        self.entity = entity
        self.text = searchable_text(entity) if entity is not None else ""
        self.passages = divide(self.text)

    def texts(self) -> list[str]:
        return [self.text[each.start : each.end] for each in self.passages]

    @property
    def remaining(self) -> int:
        return len(self.passages) - len(self.vectors)

    def record(self) -> EmbeddedRecord | None:
        if self.entity is None:
            return None
        passages = [
            EmbeddedPassage(passage.start, passage.end, vector)
            for passage, vector in zip(self.passages, self.vectors, strict=True)
        ]
        return EmbeddedRecord.of(self.entity, passages)


@dataclass(frozen=True, slots=True)
class Slice:
    work: Work
    texts: list[str]


class EmbeddingQueue:
    """Deferred changes above a limit stay in the feed: memory is bounded. Thread-safe."""

    def __init__(self, progress: Progress, limit: int, ready_records: int = READY_RECORDS) -> None:
        self._lock = threading.Lock()
        self._backlog = Backlog(progress)
        self._limit = limit
        self._ready_records = ready_records
        self.scanned = progress.prefix
        """Interactive changes are queued up to here; deferred ones up to `reached`."""
        self._queued: dict[bool, OrderedDict[str, None]] = {True: OrderedDict(), False: OrderedDict()}
        """To be read, by urgency."""
        self._ready: dict[bool, deque[Work]] = {True: deque(), False: deque()}
        self._running: tuple[Slice, ...] = ()
        self._resting: dict[str, Work] = {}
        self._done: list[Work] = []
        self._taken: set[str] = set()
        """Read, and not yet collected."""
        self.failing: dict[str, str] = {}
        """Reasons by record, of those refused last time."""
        self._refill: deque[str] = deque()
        self._lacking: set[str] = set()
        self._total = 0

    @property
    def sequence(self) -> int:
        return self._backlog.prefix

    @property
    def reached(self) -> int:
        return self._backlog.reached

    @property
    def idle(self) -> bool:
        with self._lock:
            queued = self._taken or any(self._queued.values()) or not self._backlog.is_empty
            return not queued and self.reached == self.scanned

    @property
    def wants_more(self) -> bool:
        return self.reached < self.scanned and len(self._queued[False]) <= self._limit // 2

    def scan(self, changes: Sequence[Change]) -> None:
        """Queue changes; leave deferred ones above the limit in the feed."""
        with self._lock:
            for change in changes:
                in_step = self.reached == self.scanned
                self.scanned = change.sequence
                if change.deferred and not (in_step and len(self._queued[False]) < self._limit):
                    continue
                self._add(change)
                if in_step:
                    self._backlog.reached = change.sequence
            self._backlog.settle()

    def catch_up(self, changes: Sequence[Change]) -> None:
        """Queue deferred changes that `scan` left in the feed."""
        with self._lock:
            for change in changes:
                if change.sequence > self.scanned:
                    break
                if change.deferred:
                    self._add(change)
                self._backlog.reached = change.sequence
            self._backlog.settle()

    def refill(self, record_ids: Sequence[str]) -> None:
        """Queue records after all others."""
        with self._lock:
            self._refill, self._lacking, self._total = deque(record_ids), set(record_ids), len(record_ids)

    @property
    def refilled(self) -> str:
        return f"{self._total - len(self._lacking)} of {self._total} records embedded" if self._total else ""

    @property
    def is_refilled(self) -> bool:
        """Nothing is missing but records that cannot be embedded."""
        with self._lock:
            return not self._refill and self._lacking.issubset(self._left_out())

    @property
    def lacking(self) -> int:
        return len(self._lacking)

    def awaited(self) -> set[str]:
        with self._lock:
            return self._lacking | self._left_out()

    def next_records(self) -> list[Work]:
        """Return the next records to read, if there is room for them."""
        with self._lock:
            interactive = bool(self._queued[True]) and len(self._ready[True]) < self._ready_records
            if not interactive and len(self._ready[False]) > self._ready_records - AT_ONCE:
                return []
            while not interactive and self._refill and len(self._queued[False]) < AT_ONCE:
                self._enqueue(self._refill.popleft(), interactive=False)
            ids = islice(self._queued[interactive], AT_ONCE)
            return [Work(each, interactive, self.scanned) for each in ids]

    def add(self, work: Work) -> None:
        """Queue a record that was read for the model."""
        with self._lock:
            del self._queued[work.interactive][work.record_id]
            self._taken.add(work.record_id)
            self._put(work)

    def awaits(self, *, interactive: bool) -> bool:
        """Return whether records are queued or at the model."""
        with self._lock:
            running = any(each.work.interactive == interactive for each in self._running)
            queued = self._queued[interactive] or self._ready[interactive] or (not interactive and self._refill)
            return running or bool(queued)

    def take(self, *, interactive: bool, passages: int) -> list[Slice]:
        slices: list[Slice] = []
        with self._lock:
            ready = self._ready[interactive]
            while ready and passages > 0 and not (slices and ready[0].failures):
                work = ready.popleft()
                first = len(work.vectors)
                chosen = work.passages[first : first + passages]
                slices.append(Slice(work, [work.text[each.start : each.end] for each in chosen]))
                passages = 0 if work.failures else passages - len(chosen)
            self._running = tuple(slices)
        return slices

    def deliver(self, slices: Sequence[Slice], vectors: "Vectors") -> None:
        """Receive one vector per text, in order."""
        at = 0
        with self._lock:
            self._running = ()
            for each in slices:
                work = each.work
                work.vectors.extend(vectors[at : at + len(each.texts)])
                at += len(each.texts)
                work.failures = 0
                self.failing.pop(work.record_id, None)
                self._put(work)

    def fail(self, slices: Sequence[Slice], reason: str, pause_s: Callable[[int], float]) -> None:
        """Let the records of a failed turn rest; longer for those that failed alone."""
        with self._lock:
            self._running = ()
            for each in slices:
                self._rest(each.work, reason, pause_s(each.work.failures) if each.work.failures else 0.0)
                each.work.failures += 1

    def refuse(self, work: Work, reason: str) -> bool:
        """Leave out a record that the index refused, until it changes; False if a change is on its way."""
        record_id = work.record_id
        with self._lock:
            if record_id in self._taken or any(record_id in each for each in self._queued.values()):
                return False
            self._taken.add(record_id)
            self._rest(work, reason, inf)
            return True

    def wake_rested(self) -> float | None:
        """Queue the records that have rested; return when the next one will have."""
        if not self._resting:
            return None
        now = time.monotonic()
        with self._lock:
            for work in [each for each in self._resting.values() if each.rests_until <= now]:
                del self._resting[work.record_id]
                self._put(work)
            return min((each.rests_until for each in self._resting.values() if each.rests_until < inf), default=None)

    @property
    def calls(self) -> bool:
        """The lane has something to collect."""
        return bool(self._done)

    def collect(self) -> list[Work]:
        with self._lock:
            done, self._done = self._done, []
            for work in done:
                self._taken.discard(work.record_id)
                if later := self._backlog.later(work.record_id, work.covers):
                    self._enqueue(work.record_id, interactive=any(later))
            return done

    def after(self, works: Iterable[Work]) -> Progress:
        """Return the progress once works are in the index."""
        with self._lock:
            return self._backlog.after({work.record_id: work.covers for work in works})

    def commit(self, works: Sequence[Work]) -> None:
        with self._lock:
            self._backlog.commit({work.record_id: work.covers for work in works})
            for work in works:
                self._lacking.discard(work.record_id)
                if work.record_id not in self._resting:
                    self.failing.pop(work.record_id, None)

    def contains(self, sequence: int, record_ids: Collection[str]) -> bool:
        with self._lock:
            return self._backlog.contains(sequence, record_ids)

    def pending(self, head: int) -> int:
        with self._lock:
            # A record may wait in both.
            return max(self._backlog.pending(head), len(self._lacking))

    def _add(self, change: Change) -> None:
        if self._backlog.add(change):
            self._enqueue(change.record_id, interactive=not change.deferred)

    def _enqueue(self, record_id: str, *, interactive: bool) -> None:
        if self._resting.pop(record_id, None) is not None:
            self._taken.discard(record_id)
            self.failing.pop(record_id, None)
        if record_id in self._taken:
            return
        urgent, deferred = self._queued[True], self._queued[False]
        if interactive:
            deferred.pop(record_id, None)
            urgent[record_id] = None
        elif record_id not in urgent:
            deferred[record_id] = None

    def _put(self, work: Work) -> None:
        if not work.remaining:  # it has no text, or cannot be read
            self._done.append(work)
        else:
            self._ready[work.interactive].append(work)

    def _rest(self, work: Work, reason: str, pause_s: float) -> None:
        work.rests_until = time.monotonic() + pause_s
        self.failing[work.record_id] = reason
        self._resting[work.record_id] = work

    def _left_out(self) -> set[str]:
        return {each for each, work in self._resting.items() if work.failures > 1 or work.rests_until == inf}
