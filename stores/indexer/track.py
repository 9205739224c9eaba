"""Open generation of an index and its progress through the feed."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from math import inf
from pathlib import Path
from typing import ClassVar, Generic, Protocol

from stores.indexer.comparison import differences
from stores.indexer.folders import Watermark
from stores.indexer.handle import Handle, T
from stores.indexer.refusals import Refusal, summary
from stores.indexer.status import IndexName
from stores.indexer.surroundings import Surroundings

FOREVER = 3600.0
COMPACTION_SHARE = 20.0
GATHER_SHARE = 10.0
"""In multiples of the last commit's time."""


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
        """Commit what is ready, before a clean stop; return the progress on disk."""
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
    def left_out(self) -> str:
        return summary(self.refused(), self.verb)

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
    def refilling(self) -> str:
        """Progress of a rebuild in place; empty without one."""
        return ""

    @property
    def hindrance(self) -> str:
        """Reason why searches find less than they should."""
        return f"rebuilding: {self.refilling}" if self.refilling else ""

    @property
    def remark(self) -> str:
        return self.left_out

    def awaited(self) -> Collection[str]:
        """Records that the index lacks for a known reason."""
        return self.refused()

    def differences(self) -> list[str]:
        around, awaited = self._around, self.awaited()
        return differences(around.ledger, around.organization_id, self.handle.index, self.sequence, awaited)

    def quiet(self) -> float:
        """Maintain the index while nothing is to do."""
        if self._compaction_due():
            begin = time.monotonic()
            self._compact()
            end = time.monotonic()
            self._commits, self._compact_not_before = 0, end + COMPACTION_SHARE * (end - begin)
        return max(self._around.options.quiet_s, 0.01) if self._commits else FOREVER

    def _compact(self) -> None:
        self.handle.index.compact()

    def _compaction_due(self) -> bool:
        if not self._commits or time.monotonic() < self._compact_not_before:
            return False
        quiet_s = (self._around.clock() - self._last_work_at).total_seconds()
        return quiet_s >= self._around.options.quiet_s or self._commits >= self.compact_after

    def _worked(self) -> None:
        self._commits += 1
        self._last_work_at = self._around.clock()

    def _unhurried_s(self) -> float:
        options = self._around.options
        return max(options.gather_unhurried_s, min(GATHER_SHARE * self._commit_s, options.gather_deferred_s))


class Adapter(Protocol[T]):
    """Opens the generations of one index."""

    name: IndexName
    in_place: bool
    """A rebuild fills the serving generation; otherwise one is built beside it."""

    @property
    def outage(self) -> str:
        """Reason why nothing gets into the index now, though it is whole."""

    def open(self, folder: Path, around: Surroundings, *, clean: bool) -> Track[T]:
        """Open a generation, or raise; with care after an unclean stop."""
