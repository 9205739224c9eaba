"""Embedding queue of one organization: records of the feed or of a refill, until they are in the index.

A record is queued, read, embedded in one or more turns, and collected. Interactive ones come first. Each is at most
once on its way; one that changes meanwhile is queued again when it is collected.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from stores.embedding import Passage
from stores.records import Change, Entity, searchable_text

if TYPE_CHECKING:
    from stores.embedding.embedder import Vectors

READY_RECORDS = 48
"""Records read ahead of the model, for each urgency."""
AT_ONCE = 16


@dataclass(slots=True, eq=False)
class Work:
    record_id: str
    interactive: bool
    covers: int
    """Sequence number up to which it has all changes of the record."""
    entity: Entity | None = None
    is_held: bool = False
    """The index has this revision."""
    text: str = ""
    passages: Sequence[Passage] = ()
    vectors: "list[Vectors]" = field(default_factory=list)
    failures: int = 0
    """Consecutive failures; after one, the record is embedded alone."""
    rests_until: float = 0.0

    def take_in(self, entity: Entity, divide: Callable[[str], Sequence[Passage]]) -> None:
        self.entity, self.text = entity, searchable_text(entity)
        self.passages = divide(self.text)

    def texts(self, first: int = 0, most: int | None = None) -> list[str]:
        chosen = self.passages[first : None if most is None else first + most]
        return [self.text[each.start : each.end] for each in chosen]


Slice = tuple[Work, list[str]]
"""Texts of a record that are embedded in one turn."""


class EmbeddingQueue:
    """Thread-safe."""

    def __init__(self, prefix: int, ready_records: int = READY_RECORDS) -> None:
        self._lock = threading.Lock()
        self._ready_records = ready_records
        self.scanned = prefix
        """All changes up to here were queued."""
        self._missing: OrderedDict[int, bool] = OrderedDict()
        """Changes that are not in the index, ascending; true for interactive ones."""
        self._changes: dict[str, list[int]] = {}
        """Sequence numbers of the missing changes, by record."""
        self._queued: dict[bool, OrderedDict[str, None]] = {True: OrderedDict(), False: OrderedDict()}
        """Ids of records to read, by urgency."""
        self._ready: dict[bool, deque[Work]] = {True: deque(), False: deque()}
        self._running: Sequence[Slice] = ()
        self._resting: dict[str, Work] = {}
        self._done: list[Work] = []
        self._taken: set[str] = set()
        """Ids of records read and not yet collected."""
        self.failing: dict[str, str] = {}
        """Reasons by record, of those refused last time."""
        self._lacking: set[str] = set()
        """Records of a refill."""

    @property
    def sequence(self) -> int:
        return self.after(())[0]

    @property
    def idle(self) -> bool:
        with self._lock:
            return not (self._taken or any(self._queued.values()) or self._missing)

    def scan(self, changes: Sequence[Change]) -> None:
        with self._lock:
            for change in changes:
                self.scanned = change.sequence
                if change.kind == "entity":
                    self._missing[change.sequence] = not change.deferred
                    self._changes.setdefault(change.record_id, []).append(change.sequence)
                    self._enqueue(change.record_id, interactive=not change.deferred)

    def refill(self, record_ids: Sequence[str]) -> None:
        with self._lock:
            self._lacking = set(record_ids)
            for each in record_ids:
                self._enqueue(each, interactive=False)

    @property
    def is_refilled(self) -> bool:
        """True if only records that cannot be embedded are missing."""
        with self._lock:
            return self._lacking.issubset(self._left_out())

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
            ids = islice(self._queued[interactive], AT_ONCE)
            return [Work(each, interactive, self.scanned) for each in ids]

    def add(self, work: Work) -> None:
        """Queue a record that was read for the model."""
        with self._lock:
            del self._queued[work.interactive][work.record_id]
            self._taken.add(work.record_id)
            self._put(work)

    def awaits(self, *, interactive: bool) -> bool:
        """Return whether records are queued or being embedded."""
        with self._lock:
            running = any(work.interactive == interactive for work, _ in self._running)
            return running or bool(self._queued[interactive] or self._ready[interactive])

    def take(self, *, interactive: bool, passages: int) -> list[Slice]:
        slices: list[Slice] = []
        with self._lock:
            ready = self._ready[interactive]
            while ready and passages > 0 and not (slices and ready[0].failures):
                work = ready.popleft()
                texts = work.texts(len(work.vectors), passages)
                slices.append((work, texts))
                passages = 0 if work.failures else passages - len(texts)
            self._running = tuple(slices)
        return slices

    def deliver(self, slices: Sequence[Slice], vectors: "Mapping[str, Vectors]") -> None:
        """Receive a vector for each text."""
        with self._lock:
            self._running = ()
            for work, texts in slices:
                work.vectors.extend(vectors[text] for text in texts)
                work.failures = 0
                self.failing.pop(work.record_id, None)
                self._put(work)

    def fail(self, slices: Sequence[Slice], reason: str, pause_s: Callable[[int], float]) -> None:
        """Let the records of a failed turn rest; longer for those that failed alone."""
        with self._lock:
            self._running = ()
            for work, _ in slices:
                self._rest(work, reason, pause_s(work.failures) if work.failures else 0.0)
                work.failures += 1

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
        """True if finished records wait for `collect`."""
        return bool(self._done)

    def collect(self) -> list[Work]:
        with self._lock:
            done, self._done = self._done, []
            for work in done:
                self._taken.discard(work.record_id)
                changes = self._changes.get(work.record_id, ())
                if later := [self._missing[number] for number in changes if number > work.covers]:
                    self._enqueue(work.record_id, interactive=any(later))
            return done

    def after(self, works: Sequence[Work]) -> tuple[int, int]:
        """Return the sequence numbers up to which all, and some, changes will be indexed once `works` are committed."""
        with self._lock:
            done = {n for work in works for n in self._changes.get(work.record_id, ()) if n <= work.covers}
            prefix = next((number for number in self._missing if number not in done), self.scanned + 1) - 1
            return prefix, max(done, default=0)

    def commit(self, works: Sequence[Work]) -> None:
        with self._lock:
            for work in works:
                changes = self._changes.pop(work.record_id, [])
                for number in changes:
                    if number <= work.covers:
                        del self._missing[number]
                if later := [number for number in changes if number > work.covers]:
                    self._changes[work.record_id] = later
                self._lacking.discard(work.record_id)
                if work.record_id not in self._resting:
                    self.failing.pop(work.record_id, None)

    def contains(self, sequence: int, record_ids: Collection[str] = ()) -> bool:
        """Return whether the transaction that ends at this sequence number is in the index."""
        with self._lock:
            if sequence > self.scanned or sequence in self._missing:
                return False
            return not any(number <= sequence for each in record_ids for number in self._changes.get(each, ()))

    def pending(self, head: int) -> int:
        with self._lock:
            # A record may wait in both.
            return max(head - self.scanned + len(self._missing), len(self._lacking), 0)

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
        if len(work.vectors) == len(work.passages):  # it has no text, or cannot be read
            self._done.append(work)
        else:
            self._ready[work.interactive].append(work)

    def _rest(self, work: Work, reason: str, pause_s: float) -> None:
        work.rests_until = time.monotonic() + pause_s
        self.failing[work.record_id] = reason
        self._resting[work.record_id] = work

    def _left_out(self) -> set[str]:
        return {each for each, work in self._resting.items() if work.failures > 1 or work.rests_until == inf}
