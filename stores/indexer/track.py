"""Generations of an index: their progress through the feed, and rebuilds."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from stores.index import StoredIndex
from stores.indexer.faults import Interrupted, Refusal
from stores.indexer.feed import Feed, reading
from stores.indexer.folders import OrganizationFolder, Watermark
from stores.indexer.options import IndexerOptions, IndexName
from stores.ledger import Ledger

T = TypeVar("T", bound=StoredIndex)

FOREVER = 3600.0
COMPACTION_SHARE = 10.0
GATHER_SHARE = 10.0
"""In multiples of the last commit's time."""
PAGE = 1_000
"""Changes read at once for a comparison."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    organization_id: str
    ledger: Ledger
    feed: Feed
    files: OrganizationFolder
    options: IndexerOptions
    builders: Executor
    clean: bool
    """The last stop was clean; otherwise indexes are compared with the ledger."""
    clock: Callable[[], datetime]
    head: Callable[[], int]
    """Sequence number of the last commit that was told of."""
    progressed: Callable[[], None]
    waiting: Callable[[], int]
    """Callers that wait for a write."""
    wake: Callable[[], None] = lambda: None
    """Specific to one lane, as the next."""
    closing: threading.Event = field(default_factory=threading.Event)

    def check_closing(self) -> None:
        if self.closing.is_set():
            raise Interrupted


@contextmanager
def closing_on_error(index: StoredIndex) -> Iterator[None]:
    try:
        yield
    except BaseException:
        index.close()
        raise


class Handle(Generic[T]):
    """Reference-counted index: closed once it is retired and the last reader has let go."""

    def __init__(self, index: T, folder: Path) -> None:
        self.index = index
        self.folder = folder
        self._lock = threading.Lock()
        self._readers = 0
        self._retired: Callable[[], None] | None = None
        self._closed = threading.Event()

    def acquire(self) -> bool:
        with self._lock:
            if self._retired is not None:
                return False
            self._readers += 1
            return True

    def release(self) -> None:
        with self._lock:
            self._readers -= 1
            last = self._retired is not None and self._readers == 0
        if last:
            self._close()

    def retire(self, then: Callable[[], None] = lambda: None) -> None:
        """Admit no more readers, close after the last one, then call `then`. Idempotent."""
        with self._lock:
            if self._retired is not None:
                return
            self._retired = then
            idle = self._readers == 0
        if idle:
            self._close()

    def wait_closed(self, timeout_s: float) -> bool:
        return self._closed.wait(timeout_s)

    def _close(self) -> None:
        then = self._retired
        try:
            self.index.close()
        finally:
            # Ended lanes keep their handles for a while.
            del self.index
            self._closed.set()
            if then is not None:
                then()


class Track(ABC, Generic[T]):
    """The lane's thread advances it; any thread reads its progress."""

    verb: ClassVar[str] = "indexed"
    compact_after: float = inf
    """Commits after which compaction does not wait for a pause."""

    def __init__(self, handle: Handle[T], around: Surroundings) -> None:
        self.handle = handle
        self.deaf_until = 0.0
        """Changes are not looked at before, unless somebody waits."""
        self.serves = False
        self.is_worn = False
        """A rebuild would save space."""
        self._around = around
        # Deleted text left over from the last run is erased soon.
        self._commits = 1 if handle.index.erasable else 0
        self._commit_s = 0.0
        self._compact_not_before = 0.0
        self._last_work_at = around.clock() - timedelta(seconds=around.options.quiet_s * self._commits)

    def objection(self) -> str | None:
        """Return the reason why this generation cannot follow the feed."""
        return None

    @abstractmethod
    def advance(self) -> float:
        """Take a step; return 0 after a commit, else the seconds until the next one. FeedGap as in `Feed`."""

    @abstractmethod
    def fill(self) -> None:
        """Load everything from the ledger, or begin to."""

    def finish(self) -> Watermark | None:
        """Commit finished work before a clean stop; return the progress on disk."""
        return self.recorded()

    def retire(self, then: Callable[[], None] = lambda: None) -> None:
        """Close the index after its last reader, then call `then`."""
        self.handle.retire(then)

    @property
    @abstractmethod
    def sequence(self) -> int:
        """Everything up to this number of the feed is in the index."""

    @abstractmethod
    def recorded(self) -> Watermark | None:
        """Progress on disk."""

    @abstractmethod
    def refused(self) -> Mapping[str, Refusal]: ...

    @property
    def is_partial(self) -> bool:
        """Searches find less than they should."""
        return bool(self.refused())

    def pending(self, head: int) -> int:
        return max(0, head - self.sequence)

    def contains(self, sequence: int, record_ids: Collection[str]) -> bool:
        return self.sequence >= sequence

    @property
    def readable(self) -> bool:
        return True

    @property
    def busy(self) -> bool:
        return False

    @property
    def tidies(self) -> bool:
        """Only erasing, or token vectors, are left to do."""
        return self.handle.index.erasable > 0

    @property
    def refilling(self) -> bool:
        """A rebuild in place goes on."""
        return False

    def awaited(self) -> Collection[str]:
        """Records that the index lacks for a known reason."""
        return self.refused()

    def differences(self) -> list[str]:
        """Describe each missing, superfluous or stale record, but none awaited or on its way."""
        awaited, contents = self.awaited(), dict(self.handle.index.contents())
        with reading():
            expected = self._around.ledger.records.revisions(self._around.organization_id)
            return _compare(contents, expected, self._on_the_way().union(awaited))

    def _on_the_way(self) -> set[str]:
        changed, after = set[str](), self.sequence
        while changes := self._around.ledger.feed.changes(self._around.organization_id, after, PAGE):
            changed.update(change.record_id for change in changes)
            after = changes[-1].sequence
        return changed

    def quiet(self) -> float:
        """Maintain the index while nothing is to do."""
        if self._compaction_due():
            begin = time.monotonic()
            self._compact()
            end = time.monotonic()
            self._commits, self._compact_not_before = 0, end + COMPACTION_SHARE * (end - begin)
        return max(self._around.options.quiet_s, 0.01) if self._commits else FOREVER

    def _compact(self) -> None:
        self.is_worn = self.handle.index.compact()

    def _compaction_due(self) -> bool:
        if not self._commits or time.monotonic() < self._compact_not_before:
            return False
        quiet_s = (self._around.clock() - self._last_work_at).total_seconds()
        return quiet_s >= self._around.options.quiet_s or self._commits >= self.compact_after

    def _worked(self) -> None:
        self._commits += 1
        self._last_work_at = self._around.clock()

    def _gather_s(self, least_s: float) -> float:
        options, waiting = self._around.options, self._around.waiting()
        if waiting:
            return least_s + min((waiting - 1) * options.gather_further_s, options.commit_after_s)
        return max(options.gather_unhurried_s, min(GATHER_SHARE * self._commit_s, options.gather_deferred_s))


@dataclass(frozen=True, slots=True)
class Adapter(Generic[T]):
    """Opens the generations of one index."""

    name: IndexName
    open: Callable[[Path, Surroundings, bool], Track[T]]
    """Open a generation, or raise; with care unless the last stop was clean."""
    in_place: bool = False
    """A rebuild fills the serving generation; otherwise one is built beside it."""
    is_stuck: Callable[[], bool] = lambda: False
    """Return whether nothing gets into the index now, though it is whole."""


class Rebuild(Generic[T]):
    """Rebuild of an index beside the serving one, and those who wait for it.

    `request` is called by any thread, everything else by the lane's.
    """

    def __init__(self, adapter: Adapter[T], around: Surroundings) -> None:
        self._adapter = adapter
        self._around = around
        self._lock = threading.Lock()
        self._promised: list[Future[None]] = []
        self._build: Future[Track[T]] | None = None
        self._not_before = 0.0
        self.due = ""
        """Reason of a rebuild that has not begun."""
        self.successor: Track[T] | None = None

    @property
    def runs(self) -> bool:
        return self._build is not None or self.successor is not None

    @property
    def is_building(self) -> bool:
        return self._build is not None and not self._build.done()

    @property
    def pause_s(self) -> float:
        return self._not_before - time.monotonic()

    def request(self) -> "Future[None]":
        done: Future[None] = Future()
        with self._lock:
            self._promised.append(done)
        self.due, self._not_before = "on request", 0.0
        return done

    def answer(self, error: BaseException | None = None) -> None:
        with self._lock:
            promised, self._promised = self._promised, []
        for done in promised:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def begin(self) -> None:
        self._build = self._around.builders.submit(self._built, self._around.files.fresh(self._adapter.name))
        self._build.add_done_callback(lambda _: self._around.wake())

    def take_built(self) -> None:
        """Take over the built index, or raise the error of its build."""
        if self._build is not None:
            build, self._build = self._build, None
            self.successor = build.result()

    def put_off(self, error: Exception, pause_s: float) -> None:
        if self.successor is not None:
            self.successor.retire()
        self.successor = None
        self.due, self._not_before = "the last rebuild failed", time.monotonic() + pause_s
        self.answer(error)

    def end(self) -> None:
        self.answer(Interrupted("The organization was closed."))
        if self._build is not None:
            # It checks `closing` between pages. The folder stays locked until it ends.
            wait([self._build])
            if not self._build.cancelled() and self._build.exception() is None:
                self.take_built()
        if self.successor is not None:
            self.successor.retire()

    def _built(self, folder: Path) -> Track[T]:
        self._around.check_closing()
        track = self._adapter.open(folder, self._around, True)
        with closing_on_error(track.handle.index):
            track.fill()
            return track


def _compare(contents: Mapping[str, int], expected: Mapping[str, int], ignored: set[str]) -> list[str]:
    found = []
    for each in sorted((contents.keys() | expected.keys()) - ignored):
        held, wanted = contents.get(each), expected.get(each)
        if held is None:
            found.append(f"entity {each} is missing")
        elif wanted is None:
            found.append(f"entity {each} is not in the ledger")
        elif held != wanted:
            found.append(f"entity {each} is at revision {held} instead of {wanted}")
    return found
