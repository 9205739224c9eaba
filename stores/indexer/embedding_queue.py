"""Embedding queue of one organization."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stores.embedding import Passage
from stores.indexer.backlog import Item
from stores.ledger import Read
from stores.records import Entity, searchable_text
from stores.vectors import EmbeddedPassage, EmbeddedRecord, VectorIndex, VectorState

if TYPE_CHECKING:
    from stores.embedding.embedder import Vectors


@dataclass(slots=True, eq=False)
class Work:
    """Record on its way through the model."""

    item: Item
    entity: Entity | None
    text: str = ""
    passages: Sequence[Passage] = ()
    vectors: "list[Vectors]" = field(default_factory=list)
    failures: int = 0
    """In a row. After one, the record takes its turn alone."""
    refusals: int = 0
    rests_until: float = 0.0
    unreadable: str = ""
    """Reason why the ledger cannot read the record; it is left out."""
    is_stale: bool = False
    """Rested as unreadable; to be read again."""

    @classmethod
    def of(cls, item: Item, read: Read[Entity], divide: Callable[[str], Sequence[Passage]]) -> "Work":
        entity = read.found.get(item.record_id)
        text = searchable_text(entity) if entity is not None else ""
        return cls(item, entity, text, divide(text), unreadable=read.unreadable.get(item.record_id, ""))

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
    """Passages of one record in a turn."""

    work: Work
    texts: list[str]


class EmbeddingQueue:
    """Interactive, deferred and finished records. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._interactive: deque[Work] = deque()
        self._deferred: deque[Work] = deque()
        self._running: tuple[Slice, ...] = ()
        self._resting: list[Work] = []
        self._done: list[Work] = []
        self.failing: dict[str, str] = {}
        """Reasons by record, of those refused last time."""

    def add(self, work: Work) -> None:
        with self._lock:
            self._put(work)

    def waiting(self, *, interactive: bool) -> int:
        return len(self._interactive if interactive else self._deferred)

    def in_progress(self, *, interactive: bool) -> bool:
        with self._lock:
            running = any(each.work.item.interactive == interactive for each in self._running)
            return running or bool(self._interactive if interactive else self._deferred)

    def take(self, *, interactive: bool, passages: int) -> list[Slice]:
        slices: list[Slice] = []
        with self._lock:
            queue = self._interactive if interactive else self._deferred
            while queue and passages > 0 and not (slices and queue[0].failures):
                work = queue.popleft()
                first = len(work.vectors)
                chosen = work.passages[first : first + passages]
                slices.append(Slice(work, [work.text[each.start : each.end] for each in chosen]))
                passages = 0 if work.failures else passages - len(chosen)
            self._running = tuple(slices)
        return slices

    def deliver(self, slices: Sequence[Slice], vectors: "Vectors") -> bool:
        """Receive one vector per text, in order; return whether a record is complete."""
        at = 0
        with self._lock:
            self._running = ()
            for each in slices:
                each.work.vectors.extend(vectors[at : at + len(each.texts)])
                at += len(each.texts)
                each.work.failures = 0
                if not each.work.refusals:
                    self.failing.pop(each.work.item.record_id, None)
                self._put(each.work)
            return any(not each.work.remaining for each in slices)

    def fail(self, slices: Sequence[Slice], reason: str, pause_s: Callable[[int], float]) -> None:
        """Let the records of a failed turn rest; longer for those that failed alone."""
        now = time.monotonic()
        with self._lock:
            self._running = ()
            for each in slices:
                work = each.work
                work.rests_until = now + pause_s(work.failures) if work.failures else now
                work.failures += 1
                self.failing[work.item.record_id] = reason
                self._resting.append(work)

    def refuse(self, work: Work, reason: str, pause_s: Callable[[int], float]) -> None:
        """Let a record that the index refused rest, then embed it again."""
        with self._lock:
            work.refusals += 1
            work.vectors, work.is_stale = [], bool(work.unreadable)
            work.rests_until = time.monotonic() + pause_s(work.refusals)
            self.failing[work.item.record_id] = reason
            self._resting.append(work)

    def accept(self, works: Iterable[Work]) -> None:
        with self._lock:
            for work in works:
                if work.refusals:
                    self.failing.pop(work.item.record_id, None)

    def left_out(self) -> set[str]:
        with self._lock:
            return {work.item.record_id for work in self._resting if work.failures > 1 or work.refusals}

    @property
    def has_done(self) -> bool:
        return bool(self._done)

    def wake_rested(self) -> float | None:
        """Queue the records that have rested; return when the next one will have."""
        if not self._resting:
            return None
        now = time.monotonic()
        with self._lock:
            rested = [work for work in self._resting if work.rests_until <= now]
            self._resting = [work for work in self._resting if work.rests_until > now]
            for work in rested:
                self._put(work)
            return min((work.rests_until for work in self._resting), default=None)

    def withdraw(self, outdated: Callable[[str], bool]) -> list[Work]:
        """Remove resting records that have changed since."""
        if not self._resting:
            return []
        with self._lock:
            found = [work for work in self._resting if outdated(work.item.record_id)]
            self._resting = [work for work in self._resting if work not in found]
            for work in found:
                self.failing.pop(work.item.record_id, None)
            return found

    def collect(self) -> list[Work]:
        with self._lock:
            done, self._done = self._done, []
            return done

    def _put(self, work: Work) -> None:
        if not work.remaining:  # it has no text, or cannot be read
            self._done.append(work)
        else:
            (self._interactive if work.item.interactive else self._deferred).append(work)


def write_works(index: VectorIndex, works: Sequence[Work], state: VectorState) -> None:
    newest = {work.item.record_id: work for work in works}
    records = [record for work in newest.values() if (record := work.record()) is not None]
    index.replace(records, [each for each, work in newest.items() if work.entity is None], state)


def unreadable(works: Sequence[Work]) -> list[tuple[Work, str]]:
    newest = {work.item.record_id: work for work in works}
    return [(work, work.unreadable) for work in newest.values() if work.unreadable]
