"""The records of one organization on their way through the embedding model, a few passages at a time."""

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
    """One record: its text, its passages, and the vectors of the first of them."""

    item: Item
    entity: Entity | None
    """None: the record is gone."""
    text: str = ""
    passages: Sequence[Passage] = ()
    vectors: "list[Vectors]" = field(default_factory=list)
    failures: int = 0
    """Turns in a row that it was in and that failed. It takes the next one by itself, so that it cannot fail others."""
    refusals: int = 0
    """How often the index refused it with the vectors that it got."""
    rests_until: float = 0.0
    unreadable: str = ""
    """Why the ledger, which has the record, cannot read it; the index is without it then."""
    is_stale: bool = False
    """It rested because of that, and is to be read again."""

    @classmethod
    def of(cls, item: Item, read: Read[Entity], divide: Callable[[str], Sequence[Passage]]) -> "Work":
        """Begin with a record as it was read; one that is not there is gone."""
        entity = read.found.get(item.record_id)
        text = searchable_text(entity) if entity is not None else ""
        return cls(item, entity, text, divide(text), unreadable=read.unreadable.get(item.record_id, ""))

    def texts(self) -> list[str]:
        """The text of each passage."""
        return [self.text[each.start : each.end] for each in self.passages]

    @property
    def remaining(self) -> int:
        """How many passages have no vector yet."""
        return len(self.passages) - len(self.vectors)

    def record(self) -> EmbeddedRecord | None:
        """The record with its vectors, all of which are there; None where it is gone."""
        if self.entity is None:
            return None
        passages = [
            EmbeddedPassage(passage.start, passage.end, vector)
            for passage, vector in zip(self.passages, self.vectors, strict=True)
        ]
        return EmbeddedRecord.of(self.entity, passages)


@dataclass(frozen=True, slots=True)
class Slice:
    """The passages of one record that take part in a turn."""

    work: Work
    texts: list[str]


class EmbeddingQueue:
    """Two queues of records and those that are done. Safe for the lane's thread and the embedding thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._interactive: deque[Work] = deque()
        self._deferred: deque[Work] = deque()
        self._running: tuple[Slice, ...] = ()
        self._resting: list[Work] = []
        self._done: list[Work] = []
        self.failing: dict[str, str] = {}
        """Records that the model, or the index, refused last time, and why."""

    def add(self, work: Work) -> None:
        """Queue a record."""
        with self._lock:
            self._queue(work).append(work)

    def finish(self, works: Iterable[Work]) -> None:
        """Take records that need no model."""
        with self._lock:
            self._finish(works)

    def waiting(self, *, interactive: bool) -> int:
        """How many records wait for the model."""
        return len(self._interactive if interactive else self._deferred)

    def in_progress(self, *, interactive: bool) -> bool:
        """Tell whether a record of that kind waits for the model or is in it."""
        with self._lock:
            running = any(each.work.item.interactive == interactive for each in self._running)
            return running or bool(self._interactive if interactive else self._deferred)

    def take(self, *, interactive: bool, passages: int) -> list[Slice]:
        """Remove the next records, or the first passages of a long one."""
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
        """Receive one vector per text, in order; True when a record is complete. A long one goes to the back."""
        at = 0
        with self._lock:
            self._running = ()
            for each in slices:
                each.work.vectors.extend(vectors[at : at + len(each.texts)])
                at += len(each.texts)
                each.work.failures = 0
                if not each.work.refusals:
                    self.failing.pop(each.work.item.record_id, None)
                if each.work.remaining:
                    self._queue(each.work).append(each.work)
            complete = [each.work for each in slices if not each.work.remaining]
            self._finish(complete)
        return bool(complete)

    def fail(self, slices: Sequence[Slice], reason: str, pause_s: Callable[[int], float]) -> None:
        """Let the records of a turn that failed rest: longer each time, and only those that failed by themselves."""
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
        """Let a record rest that the index refused; then it is embedded again, as its vectors may be to blame."""
        with self._lock:
            work.refusals += 1
            work.vectors, work.is_stale = [], bool(work.unreadable)
            work.rests_until = time.monotonic() + pause_s(work.refusals)
            self.failing[work.item.record_id] = reason
            self._resting.append(work)

    def accept(self, works: Iterable[Work]) -> None:
        """Note that records are in the index, those too that it refused before."""
        with self._lock:
            for work in works:
                if work.refusals:
                    self.failing.pop(work.item.record_id, None)

    def left_out(self) -> set[str]:
        """The records that rest because they failed by themselves, in the model or at the index."""
        with self._lock:
            return {work.item.record_id for work in self._resting if work.failures > 1 or work.refusals}

    @property
    def has_done(self) -> bool:
        """Tell whether there is something to collect."""
        return bool(self._done)

    def wake_rested(self) -> float | None:
        """Queue the records that have rested, behind all others; return when the next one will have."""
        if not self._resting:
            return None
        now = time.monotonic()
        with self._lock:
            rested = [work for work in self._resting if work.rests_until <= now]
            self._resting = [work for work in self._resting if work.rests_until > now]
            for work in rested:
                # A record without text needs no model, and one that could not be read has none.
                (self._queue(work) if work.remaining else self._done).append(work)
            return min((work.rests_until for work in self._resting), default=None)

    def withdraw(self, outdated: Callable[[str], bool]) -> list[Work]:
        """Remove resting records that have changed since: their new text may not be refused."""
        if not self._resting:
            return []
        with self._lock:
            found = [work for work in self._resting if outdated(work.item.record_id)]
            self._resting = [work for work in self._resting if work not in found]
            for work in found:
                self.failing.pop(work.item.record_id, None)
            return found

    def collect(self) -> list[Work]:
        """Remove what is done."""
        with self._lock:
            done, self._done = self._done, []
            return done

    def _finish(self, works: Iterable[Work]) -> None:
        self._done.extend(works)

    def _queue(self, work: Work) -> deque[Work]:
        return self._interactive if work.item.interactive else self._deferred


def write_works(index: VectorIndex, works: Sequence[Work], state: VectorState) -> None:
    """Put records with their vectors into an index, the newest of each, and take those out that are gone."""
    newest = {work.item.record_id: work for work in works}
    records = [record for work in newest.values() if (record := work.record()) is not None]
    index.replace(records, [each for each, work in newest.items() if work.entity is None], state)


def unreadable(works: Sequence[Work]) -> list[tuple[Work, str]]:
    """Find the records, the newest of each, that the ledger cannot read, and why."""
    newest = {work.item.record_id: work for work in works}
    return [(work, work.unreadable) for work in newest.values() if work.unreadable]
