"""Follow the change feeds of all organizations into one analytics file."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import structlog

from stores.analytics.comparison import compare, orphans
from stores.analytics.query import Activity, ActivityQuery
from stores.errors import EngrainError, NotFound, Unavailable
from stores.ledger import Ledger
from stores.ledger.engine import in_chunks
from stores.ledger.task_counts import TASK
from stores.records import Position

if TYPE_CHECKING:
    from stores.analytics.file import AnalyticsFile

DELAY_S = 3.0
"""The first requests have the processor."""
GATHER_S = 1.0
PAGE = 2_000
MOST_CHANGES = 20_000
"""Backlog above which all tasks are read again."""
MARK_EVERY = 5_000
"""Irrelevant changes after which the watermark is written anyway."""
RETRY_AT_MOST_S = 60.0
DAMAGED = ".damaged"
PASSING = ("Could not set lock", "No space left on device")
"""No damage: another process holds the file, or the disk is full."""

T = TypeVar("T")
State = Literal["ready", "catching_up", "failed"]

log = structlog.get_logger("analytics")


@dataclass(frozen=True, slots=True)
class AnalyticsStatus:
    state: State
    watermark: int
    pending: int


@dataclass(slots=True)
class _Progress:
    lock: threading.Lock = field(default_factory=threading.Lock)
    place: "tuple[AnalyticsFile, Position] | None" = None
    head: int = 0
    marked: int = 0
    """May lag behind the position."""

    def position(self, file: "AnalyticsFile | None") -> Position | None:
        return self.place[1] if self.place is not None and self.place[0] is file else None


class _TimedOut(Exception):
    """The caller's time is over, or the server stops."""


class Analytics:
    """Thread-safe. Losing the file loses exposures; the rest is derived from the ledger."""

    def __init__(self, ledger: Ledger, path: Path, *, delay_s: float = DELAY_S, gather_s: float = GATHER_S) -> None:
        self._ledger = ledger
        self._path = path
        self._delay_s = delay_s
        self._gather_s = gather_s
        self._opening = threading.Lock()
        self._lock = threading.Lock()
        """Guards the progress table. Held briefly: commits wait for it."""
        self._file: AnalyticsFile | None = None
        self._progress: dict[str, _Progress] = {}
        self._wanted: dict[str, None] = {}
        self._gone: dict[str, None] = {}
        self._failures = 0
        self._surveyed = False
        self._signal = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="analytics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float = 5.0) -> None:
        self._stopping.set()
        self._signal.set()
        self._thread.join(timeout_s)
        with self._opening:
            file, self._file = self._file, None
            if file is not None:
                file.close(self._ahead(file))

    def notify(self, organization_id: str, sequence: int) -> None:
        """Record a commit. Fast."""
        with self._lock:
            book = self._progress.setdefault(organization_id, _Progress())
            book.head = max(book.head, sequence)
            self._wanted[organization_id] = None
        self._signal.set()

    def forget(self, organization_id: str) -> None:
        """Schedule the removal of a deleted organization. Never raises."""
        with self._lock:
            self._wanted.pop(organization_id, None)
            self._gone[organization_id] = None
        self._signal.set()

    def status(self) -> AnalyticsStatus:
        with self._lock:
            found = [(book.head, book.position(self._file)) for book in self._progress.values()]
        pending = sum(max(0, head - (at.sequence if at else 0)) for head, at in found)
        state: State = "ready" if self._surveyed and not pending else "catching_up"
        watermark = sum(at.sequence for _, at in found if at)
        return AnalyticsStatus("failed" if self._failures else state, watermark, pending)

    def activity(self, organization_id: str, query: ActivityQuery, *, timeout_s: float = 20.0) -> Activity:
        """Count activity of a project, everything committed included. Blocks.

        Raises:
            NotFound: There is no such organization. Unavailable: The file cannot be used, or catching up takes longer
                than `timeout_s`.
        """
        until = time.monotonic() + timeout_s

        def read(file: "AnalyticsFile") -> Activity:
            with self._level(file, organization_id, until):
                return file.activity(organization_id, query)

        try:
            return self.using(read)
        except _TimedOut:
            self.notify(organization_id, 0)
            raise Unavailable("The metrics are catching up with the ledger. Try again in a moment.") from None

    def differences(self, organization_id: str, timeout_s: float) -> list[str] | None:
        """Describe each difference from the ledger; None while catching up. Blocks.

        Raises:
            NotFound: There is no such organization. Unavailable: The file cannot be used.
        """
        until = time.monotonic() + timeout_s

        def read(file: "AnalyticsFile") -> list[str]:
            with self._level(file, organization_id, until):
                ids = self._ledger.records.task_ids(organization_id)
                told = self._ledger.records.task_histories(organization_id, ids)
                erased = sorted(orphans(file, self._ledger, organization_id))
                left = [f"exposures of {each}, which is not in the ledger" for each in erased]
                return [*compare(file.histories(organization_id), told), *left]

        try:
            return self.using(read)
        except _TimedOut:
            return None

    def rebuild(self, organization_id: str) -> None:
        """Derive an organization from the ledger again; exposures stay. Blocks.

        Raises:
            NotFound: There is no such organization. Unavailable: The file cannot be used.
        """

        def renew(file: "AnalyticsFile") -> None:
            book = self._book(organization_id)
            with book.lock:
                self._rebuild(file, organization_id, book, None)

        self.using(renew)

    @contextmanager
    def still(self, organization_ids: Iterable[str]) -> Iterator[None]:
        with ExitStack() as held:
            for each in sorted(set(organization_ids)):
                held.enter_context(self._book(each).lock)
            yield

    def using(self, action: Callable[["AnalyticsFile"], T]) -> T:
        """Call the action with the file, opened if needed.

        Raises:
            Unavailable: The file cannot be used now.
        """
        import duckdb  # noqa: PLC0415 - takes a quarter of a second, and a start has other things to do

        file: AnalyticsFile | None = None
        try:
            file = self._opened()
            found = action(file)
        except (duckdb.Error, OSError) as error:
            self._lose(file, error)
            raise Unavailable(
                "The analytics file cannot be used now. The server retries; try again in a minute."
            ) from error
        self._failures = 0
        return found

    def _opened(self) -> "AnalyticsFile":
        with self._opening:
            if self._stopping.is_set():
                raise Unavailable("The server is stopping.")
            if self._file is None:
                from stores.analytics.file import AnalyticsFile  # noqa: PLC0415 - imports DuckDB

                file = AnalyticsFile.open(self._path)
                for each, position in file.watermarks().items():
                    book = self._book(each)
                    book.place, book.marked = (file, position), position.sequence
                self._file = file
            return self._file

    def _book(self, organization_id: str) -> _Progress:
        with self._lock:
            return self._progress.setdefault(organization_id, _Progress())

    def _lose(self, file: "AnalyticsFile | None", error: Exception) -> None:
        with self._opening:
            if file is not self._file:
                return  # another thread has handled it
            self._failures += 1
            log.warning("analytics_failed", failures=self._failures, detail=f"{type(error).__name__}: {error}"[:300])
            self._file = None
            if file is not None:
                file.close()
            if (file is None or self._failures > 1) and not any(each in str(error) for each in PASSING):
                self._set_aside()

    def _set_aside(self) -> None:
        for path in (self._path, self._path.with_name(self._path.name + ".wal")):
            try:
                path.rename(path.with_name(path.name + DAMAGED))
            except FileNotFoundError:
                continue
            except OSError as error:
                log.warning("analytics_not_set_aside", detail=str(error))

    def _run(self) -> None:
        self._signal.clear()
        self._stopping.wait(self._delay_s)
        while not self._stopping.is_set():
            try:
                self._step()
            except _TimedOut:  # The server stops.
                return
            except EngrainError as error:
                log.warning("analytics_behind", detail=error.message)
            except Exception:  # the thread's edge: it serves every organization
                log.exception("analytics_step_failed")
            self._signal.wait(self._pause())
            self._signal.clear()
            self._stopping.wait(self._gather_s)

    def _pause(self) -> float | None:
        if self._failures or not self._surveyed:
            return float(min(RETRY_AT_MOST_S, 2.0 ** min(self._failures, 10)))
        return None if not self._wanted and not self._gone else RETRY_AT_MOST_S

    def _step(self) -> None:
        if not self._surveyed:
            self.using(self._survey)
            self._surveyed = True
        for gone in list(self._gone):
            self.using(partial(self._remove, organization_id=gone))
        for wanted in list(self._wanted):
            self._wanted.pop(wanted, None)
            try:
                self.using(partial(self._follow, organization_id=wanted))
            except NotFound:
                continue
            except EngrainError:
                self._wanted[wanted] = None
                raise

    def _remove(self, file: "AnalyticsFile", organization_id: str) -> None:
        with self._book(organization_id).lock:
            file.forget(organization_id)
        with self._lock:
            self._progress.pop(organization_id, None)
            self._gone.pop(organization_id, None)

    def _survey(self, file: "AnalyticsFile") -> None:
        known = file.organizations()
        for each in self._ledger.people.organizations():
            known.discard(each.id)
            try:
                head = self._ledger.feed.head(each.id).sequence
            except NotFound:
                continue
            at = self._book(each.id).position(file)
            if at is None or at.sequence != head:
                self.notify(each.id, head)
        for deleted in known:
            self.forget(deleted)

    def _follow(self, file: "AnalyticsFile", organization_id: str) -> None:
        with self._level(file, organization_id, None):
            pass

    @contextmanager
    def _level(self, file: "AnalyticsFile", organization_id: str, until: float | None) -> Iterator[None]:
        book = self._book(organization_id)
        if not book.lock.acquire(timeout=-1 if until is None else max(0.0, until - time.monotonic())):
            raise _TimedOut
        try:
            self._catch_up(file, organization_id, book, until)
            yield
        except NotFound:
            self.forget(organization_id)
            raise
        finally:
            book.lock.release()

    def _catch_up(self, file: "AnalyticsFile", organization_id: str, book: _Progress, until: float | None) -> None:
        head, at = self._ledger.feed.head(organization_id), book.position(file)
        book.head = max(book.head, head.sequence)
        if at == head:
            return
        behind = head.sequence - at.sequence if at is not None else 0
        if at is None or not self._is_place(organization_id, at) or behind > MOST_CHANGES:
            self._rebuild(file, organization_id, book, until)
            return
        while at.sequence < head.sequence:
            self._check(until)
            changes = self._ledger.feed.changes(organization_id, at.sequence, PAGE)
            if not changes or changes[0].sequence != at.sequence + 1:  # Pruned since.
                self._rebuild(file, organization_id, book, until)
                return
            ids = {each.record_id for each in changes if each.kind == "entity" and each.entity_type == TASK}
            erased = {each.record_id for each in changes if each.kind == "entity" and each.operation == "delete"}
            at = Position(head.epoch, changes[-1].sequence, changes[-1].batch)
            if erased:
                file.erase_exposures(organization_id, erased)
            if ids or at.sequence - book.marked >= MARK_EVERY:
                file.replace(organization_id, ids, self._ledger.records.task_histories(organization_id, ids), at)
                book.marked = at.sequence
            book.place = (file, at)

    def _ahead(self, file: "AnalyticsFile") -> dict[str, Position]:
        with self._lock:
            books = {each: (book.position(file), book.marked) for each, book in self._progress.items()}
        return {each: at for each, (at, marked) in books.items() if at is not None and at.sequence > marked}

    def _is_place(self, organization_id: str, at: Position) -> bool:
        return (
            at.epoch == self._ledger.feed.epoch and self._ledger.feed.batch_at(organization_id, at.sequence) == at.batch
        )

    def _rebuild(self, file: "AnalyticsFile", organization_id: str, book: _Progress, until: float | None) -> None:
        book.place = None
        start = self._ledger.feed.head(organization_id)
        file.clear(organization_id)
        for ids in in_chunks(self._ledger.records.task_ids(organization_id)):
            self._check(until)
            file.replace(organization_id, (), self._ledger.records.task_histories(organization_id, ids), None)
        if erased := orphans(file, self._ledger, organization_id):
            file.erase_exposures(organization_id, erased)
        file.mark({organization_id: start})
        book.place, book.marked = (file, start), start.sequence

    def _check(self, until: float | None) -> None:
        if self._stopping.is_set() or (until is not None and time.monotonic() > until):
            raise _TimedOut
