"""Exposures: records that were returned, and cited later. A write-behind queue before one DuckDB file.

A kill loses the last seconds, and a full queue drops rows. Times in the file are UTC without a zone.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Full, Queue
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import structlog

from stores.clock import Clock
from stores.errors import EngrainError, Unavailable
from stores.ledger import Ledger

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DELAY_S = 3.0
"""The first requests have the processor."""
GATHER_S = 1.0
MOST_QUEUED = 5_000
"""Answers, a few megabytes; further ones are dropped and counted."""
PRUNE_EVERY_S = 3600.0
RETRY_S = 30.0
FLUSH_S = 3.0
"""Longest wait of a shutdown for the queue."""
DAMAGED = ".damaged"
PASSING = ("Could not set lock", "No space left on device")
"""No damage: another process holds the file, or the disk is full."""

OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "256MB",
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_TABLE = """
CREATE TABLE IF NOT EXISTS exposures (
    organization_id TEXT, record_id TEXT, visibility TEXT, signal TEXT, surface TEXT, user_id TEXT, session_key TEXT,
    message_key TEXT, rank INTEGER, score DOUBLE, shown_at TIMESTAMP
)
"""
_TEXTS = 8
"""Leading columns."""
_OLD = "DELETE FROM exposures WHERE shown_at < ?"
_OF_USERS = "DELETE FROM exposures WHERE user_id IN (SELECT unnest(?))"
_OF_RECORDS = "DELETE FROM exposures WHERE organization_id = ? AND record_id IN (SELECT unnest(?))"

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

    def rows(self, there: Set[str]) -> list[tuple[object, ...]]:
        return [
            (
                self.organization_id, each.record_id, each.visibility, self.signal, self.surface, self.user_id,
                self.session_key, self.message_key, each.rank, each.score, _naive(self.at),
            )
            for each in self.records
            if each.record_id in there
        ]  # fmt: skip


class Exposures:
    """Queue, writer thread and file. Thread-safe."""

    def __init__(
        self,
        ledger: Ledger,
        path: Path,
        clock: Clock,
        *,
        keep: timedelta,
        most: int = MOST_QUEUED,
        delay_s: float = DELAY_S,
    ) -> None:
        self._ledger = ledger
        self._path = path
        self._clock = clock
        self._keep = keep
        self._delay_s = delay_s
        self._queue: Queue[Exposure] = Queue(most)
        self._taken: list[Exposure] = []
        """From the queue, until they are written."""
        self.written = 0
        self.dropped = 0
        self._pruned_at = -PRUNE_EVERY_S
        self._writing = threading.Lock()
        self._connection: DuckDBPyConnection | None = None
        self._failures = 0
        self._signal = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="exposures", daemon=True)

    @property
    def on(self) -> bool:
        return self._keep > timedelta(0)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Flush for at most `FLUSH_S`."""
        self._stopping.set()
        self._signal.set()
        if self._thread.ident is not None:
            self._thread.join(FLUSH_S)
        if self._writing.acquire(timeout=FLUSH_S):
            self._let_go()
            self._writing.release()

    def put(self, exposure: Exposure) -> bool:
        """Queue without waiting for the disk; False if it was dropped."""
        try:
            self._queue.put_nowait(exposure)
        except Full:
            if not self.dropped:
                log.warning("exposures_dropped", queued=self._queue.qsize())
            self.dropped += len(exposure.records)
            return False
        self._signal.set()
        return True

    def flush(self) -> None:
        """Write the queue. Blocks. Unavailable if the file cannot be used; the rows stay queued."""
        with self._writing:
            self._taken = self._taken or [self._queue.get_nowait() for _ in range(self._queue.qsize())]
            if self._taken:
                rows = self._rows(self._taken)
                self._use(lambda connection: _append(connection, rows))
                self._taken = []
                self.written += len(rows)

    def prune(self) -> None:
        """Remove expired rows, and those of deleted users and records. Blocks. Unavailable as in `flush`."""
        with self._writing:
            self._use(self._remove)
        self._pruned_at = time.monotonic()

    def _rows(self, exposures: Sequence[Exposure]) -> list[tuple[object, ...]]:
        exposed: defaultdict[str, set[str]] = defaultdict(set)
        for each in exposures:
            exposed[each.organization_id].update(shown.record_id for shown in each.records)
        there = {each: self._present(each, ids) for each, ids in exposed.items()}
        return [row for each in exposures for row in each.rows(there[each.organization_id])]

    def _remove(self, connection: "DuckDBPyConnection") -> None:
        connection.execute(_OLD, [_naive(self._clock() - self._keep)])
        users = {user for (user,) in connection.execute("SELECT DISTINCT user_id FROM exposures").fetchall()}
        connection.execute(_OF_USERS, [sorted(users - self._ledger.people.names(users).keys())])
        exposed: defaultdict[str, set[str]] = defaultdict(set)
        for each, record in connection.execute("SELECT DISTINCT organization_id, record_id FROM exposures").fetchall():
            exposed[each].add(record)
        for each, records in exposed.items():
            connection.execute(_OF_RECORDS, [each, sorted(records - self._present(each, records))])

    def _present(self, organization_id: str, record_ids: Iterable[str]) -> Set[str]:
        return self._ledger.records.statuses(organization_id, record_ids, visibility=frozenset()).keys()

    def _use(self, action: Callable[["DuckDBPyConnection"], None]) -> None:
        import duckdb  # noqa: PLC0415 - takes a quarter of a second, and a start has other things to do

        was_open = self._connection is not None
        try:
            if self._connection is None:
                self._connection = duckdb.connect(str(self._path), config=OPTIONS)
                self._connection.execute(_TABLE)
            action(self._connection)
        except (duckdb.Error, OSError) as error:
            self._failures += 1
            log.warning("exposures_failed", failures=self._failures, detail=f"{type(error).__name__}: {error}"[:300])
            self._let_go()
            if (not was_open or self._failures > 1) and not any(each in str(error) for each in PASSING):
                self._set_aside()
            raise Unavailable("The file of exposures cannot be used now. The server retries.") from error
        self._failures = 0

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # closing a broken connection may fail, too
                connection.close()

    def _set_aside(self) -> None:
        for path in (self._path, self._path.with_name(self._path.name + ".wal")):
            with suppress(OSError):
                path.rename(path.with_name(path.name + DAMAGED))

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


def _append(connection: "DuckDBPyConnection", rows: Sequence[tuple[object, ...]]) -> None:
    if not rows:
        return
    import pyarrow as pa  # noqa: PLC0415 - as duckdb

    types: list[Any] = [*[pa.string()] * _TEXTS, pa.int32(), pa.float64(), pa.timestamp("us")]
    arrays = [pa.array(column, type_) for column, type_ in zip(zip(*rows, strict=True), types, strict=True)]
    connection.register("arriving", pa.Table.from_arrays(arrays, names=list(map(str, range(len(arrays))))))
    try:
        connection.execute("INSERT INTO exposures SELECT * FROM arriving")
    finally:
        connection.unregister("arriving")


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)
