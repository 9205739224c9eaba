"""Write-behind queue for exposures: records that were returned, and cited later.

A kill loses the last seconds, and a full queue drops rows.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

import structlog

from stores.analytics.comparison import present
from stores.analytics.query import Uses
from stores.clock import Clock
from stores.errors import EngrainError
from stores.ledger import Ledger

if TYPE_CHECKING:
    from stores.analytics.analytics import Analytics
    from stores.analytics.file import AnalyticsFile, ExposureRow

DELAY_S = 3.0
GATHER_S = 1.0
MOST_QUEUED = 50_000
"""Rows, a few megabytes; further ones are dropped and counted."""
PRUNE_EVERY_S = 3600.0
RETRY_S = 30.0
FLUSH_S = 3.0
"""Longest wait of a shutdown for the queue."""

log = structlog.get_logger("exposures")


class Shown(NamedTuple):
    record_id: str
    visibility: str
    """At that moment."""
    rank: int | None = None
    """From 1; None in unranked answers."""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Exposure:
    """Records of one answer or citation: ids, never text."""

    organization_id: str
    user_id: str
    signal: Literal["exposure", "citation"]
    surface: str
    session_key: str
    message_key: str
    at: datetime
    records: tuple[Shown, ...]

    def rows(self, there: Set[str]) -> "list[ExposureRow]":
        return [
            (
                self.organization_id, each.record_id, each.visibility, self.signal, self.surface, self.user_id,
                self.session_key, self.message_key, each.rank, each.score, self.at,
            )
            for each in self.records
            if each.record_id in there
        ]  # fmt: skip


class Exposures:
    """Queue and writer thread. Thread-safe."""

    def __init__(
        self,
        analytics: "Analytics",
        ledger: Ledger,
        clock: Clock,
        *,
        keep: timedelta,
        most: int = MOST_QUEUED,
        delay_s: float = DELAY_S,
    ) -> None:
        self._analytics = analytics
        self._ledger = ledger
        self._clock = clock
        self._keep = keep
        self._most = most
        self._delay_s = delay_s
        self._lock = threading.Lock()
        """Held briefly: reads wait for it."""
        self._queue: deque[Exposure] = deque()
        self._queued = 0
        self.written = 0
        self.dropped = 0
        self._pruned_at = -PRUNE_EVERY_S
        self._writing = threading.Lock()
        self._signal = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="exposures", daemon=True)

    @property
    def on(self) -> bool:
        return self._keep > timedelta(0)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Flush for at most `FLUSH_S`. Call before the analytics close."""
        self._stopping.set()
        self._signal.set()
        self._thread.join(FLUSH_S)

    def put(self, exposure: Exposure) -> bool:
        """Queue without waiting for the disk; False if it was dropped."""
        count = len(exposure.records)
        with self._lock:
            if self._queued + count > self._most:
                if not self.dropped:
                    log.warning("exposures_dropped", queued=self._queued)
                self.dropped += count
                return False
            self._queue.append(exposure)
            self._queued += count
        self._signal.set()
        return True

    def flush(self) -> None:
        """Write the queue. Blocks.

        Raises:
            Unavailable: The file cannot be used; the rows stay queued.
        """
        with self._writing:
            with self._lock:
                taken, self._queue = list(self._queue), deque()
            if not taken:
                return
            try:
                count = self._analytics.using(lambda file: self._write(file, taken))
            except BaseException:
                with self._lock:
                    self._queue.extendleft(reversed(taken))
                raise
            with self._lock:
                self._queued -= sum(len(each.records) for each in taken)
                self.written += count

    def _write(self, file: "AnalyticsFile", exposures: Sequence[Exposure]) -> int:
        # Erasures arrive by the feed, which is paused until the rows are written.
        with self._analytics.still(each.organization_id for each in exposures):
            exposed: dict[str, set[str]] = {}
            for each in exposures:
                exposed.setdefault(each.organization_id, set()).update(shown.record_id for shown in each.records)
            there = {each: present(self._ledger, each, ids) for each, ids in exposed.items()}
            rows = [row for each in exposures for row in each.rows(there[each.organization_id])]
            file.append_exposures(rows)
            return len(rows)

    def uses(self, organization_id: str, visibility: frozenset[str]) -> list[Uses]:
        """Count returned and cited records by surface, queued ones included. Blocks.

        Raises:
            Unavailable: The file cannot be used.
        """
        self.flush()
        return self._analytics.using(lambda file: file.uses(organization_id, visibility))

    def prune(self) -> None:
        """Remove expired rows and those of deleted users. Blocks.

        Raises:
            Unavailable: The file or the ledger cannot be used.
        """
        before = self._clock() - self._keep

        def act(file: "AnalyticsFile") -> None:
            file.prune_exposures(
                before, [each for each in file.exposed_users() if self._ledger.people.user(each) is None]
            )

        self._analytics.using(act)
        self._pruned_at = time.monotonic()

    def _run(self) -> None:
        self._stopping.wait(self._delay_s)
        while not self._stopping.is_set():
            self._signal.wait(PRUNE_EVERY_S)
            self._signal.clear()
            self._stopping.wait(GATHER_S)
            if not self._step():
                self._signal.set()
                self._stopping.wait(RETRY_S)
        self._step()

    def _step(self) -> bool:
        try:
            self.flush()
            if not self._stopping.is_set() and time.monotonic() - self._pruned_at > PRUNE_EVERY_S:
                self.prune()
        except EngrainError as error:
            log.warning("exposures_wait", detail=error.message)
            return False
        except Exception:  # the thread's edge: it serves every organization
            log.exception("exposures_not_written")
            return False
        return True
