"""Thread of one index: wakes, takes a step, sleeps, fails and tries again."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog

from stores.indexer.feed import Feed, LedgerUnreadable
from stores.indexer.folders import OrganizationFolder, Watermark
from stores.indexer.handle import Handle
from stores.indexer.options import IndexerOptions
from stores.indexer.status import IndexName, IndexStatus, State
from stores.ledger import Ledger

log = structlog.get_logger("indexer")

FOREVER = 3600.0
WAIT_FOR_READERS_S = 5.0
COMPACTION_SHARE = 20.0
GATHER_SHARE = 10.0
"""In multiples of the last commit's time."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Dependencies of the lanes of one organization."""

    organization_id: str
    ledger: Ledger
    feed: Feed
    files: OrganizationFolder
    options: IndexerOptions
    builders: Executor
    clean: bool
    """The last stop was clean; otherwise indexes are compared with the ledger."""
    clock: Callable[[], datetime]
    progressed: Callable[[], None]
    hurried: Callable[[], bool]
    """Somebody waits for a write."""


class Interrupted(Exception):  # not a fault: the lane is closing
    """The organization is being closed."""


class ModelUnavailable(Exception):  # the model is at fault, no index is
    """The embedding model cannot be loaded or reached."""


class Lane(ABC):
    """One index of one organization and the thread that writes it. Thread-safe."""

    name: IndexName

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._lock = threading.Lock()
        self._signal = threading.Event()
        self._deaf_until = 0.0
        self._closing = threading.Event()
        self._settled = threading.Event()
        self._state: State = "catching_up"
        self._detail = ""
        self._failures = 0
        self._trouble = ""
        self._retry_at = 0.0
        self._postponed = 0
        self._commits = 0
        self._commit_s = 0.0
        self._compact_not_before = 0.0
        self._last_work_at = around.clock()
        self._verified = around.clean
        self._reported: BaseException | None = None
        self._asking: list[Future[None]] = []
        self._promised: list[Future[None]] = []
        self._final: Watermark | None = None
        self._leaving: Handle[Any] | None = None
        self._thread = threading.Thread(target=self._run, name=f"{self.name} {around.organization_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look at the feed: at once where somebody waits, else once writes have gathered."""
        # Waking at every single write would cost requests more than the write itself.
        if time.monotonic() >= self._deaf_until or self._around.hurried():
            self._signal.set()

    def stop(self) -> None:
        self._closing.set()
        self._signal.set()

    def join(self, timeout_s: float) -> bool:
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until the index is open or known to be unusable for now."""
        return self._settled.wait(timeout_s)

    @property
    def recorded(self) -> Watermark | None:
        """Watermark on disk; None where it cannot be relied on."""
        with self._lock:
            return self._final or self._recorded()

    @property
    def reason(self) -> str:
        """Reason why search lacks this index or part of it; empty when it is whole."""
        with self._lock:
            return self._objection()

    def status(self, head: int) -> IndexStatus:
        with self._lock:
            final = self._final
            watermark = final.sequence if final is not None else self._watermark()
            pending = final.pending(head) if final is not None else self._pending(head)
            state = self._state
            if state in ("ready", "catching_up") and self._settled.is_set():
                state = "catching_up" if pending else "ready"
            detail = self._detail or self._left_out() or self._remark()
            refused = len(self._refused())
            return IndexStatus(self._around.organization_id, self.name, state, watermark, pending, detail, refused)

    def report(self, error: BaseException) -> None:
        with self._lock:
            self._reported = error
        self._signal.set()

    def contains(self, sequence: int, record_ids: Collection[str] = ()) -> bool:
        with self._lock:
            return self._contains(sequence, record_ids) if self._final is None else self._final.contains(sequence)

    @property
    def waitable(self) -> bool:
        """Changes will get into this index by themselves."""
        with self._lock:
            return self._state != "failed" and (self._final is not None or self._hopeful())

    @property
    def erases(self) -> bool:
        """Deleted or replaced records are still in its files."""
        recorded = self.recorded
        return recorded is not None and recorded.erasable > 0

    @property
    @abstractmethod
    def busy(self) -> bool: ...

    def rebuild(self) -> "Future[None]":
        """Rebuild the index from the ledger; the present one serves until then."""
        done: Future[None] = Future()
        with self._lock:
            self._asking.append(done)
        self._signal.set()
        return done

    @abstractmethod
    def differences(self) -> list[str]: ...

    def _why_absent(self) -> list[str]:
        return [f"it cannot be used: {self._detail}"] if self._state == "failed" else []

    @abstractmethod
    def _step(self) -> float: ...

    @abstractmethod
    def _release(self) -> Path | None: ...

    @abstractmethod
    def _contains(self, sequence: int, record_ids: Collection[str]) -> bool: ...

    @abstractmethod
    def _hopeful(self) -> bool: ...

    @abstractmethod
    def _recorded(self) -> Watermark | None: ...

    @abstractmethod
    def _watermark(self) -> int: ...

    @abstractmethod
    def _pending(self, head: int) -> int: ...

    @abstractmethod
    def _refused(self) -> Collection[str]: ...

    @abstractmethod
    def _left_out(self) -> str: ...

    def _remark(self) -> str:
        return ""

    def _objection(self) -> str:
        if self._state == "failed":
            return self._detail
        # It was reopened, and has not passed the change at which it failed.
        return self._hindrance() or (f"it failed: {self._trouble}" if self._trouble else self._left_out())

    @abstractmethod
    def _hindrance(self) -> str: ...

    def _run(self) -> None:
        while not self._closing.is_set():
            delay = self._guarded_step()
            if delay > 0 and not self._closing.is_set():
                self._signal.wait(delay)
            self._signal.clear()
        self._finish()

    def _guarded_step(self) -> float:
        try:
            wait = self._retry_at - time.monotonic()
            if wait > 0:
                return wait
            delay = self._step()
            self._postponed = 0
            return delay
        except Interrupted:
            return 0.0
        except LedgerUnreadable as error:
            return self._postpone(str(error))
        except ModelUnavailable as error:
            self._guarded_release()
            self._set("failed", str(error))
            self._settled.set()
            self._around.progressed()
            return self._postpone(str(error))
        except BaseException as error:  # noqa: BLE001  # the thread's edge: no panic may end it in silence
            self._fail(error)
            return 0.0

    def _postpone(self, reason: str) -> float:
        with self._lock:
            self._detail = reason
        if not self._postponed:
            organization_id = self._around.organization_id
            log.warning("index_waits", organization_id=organization_id, index=self.name, detail=reason)
        self._postponed += 1
        return self._around.options.pause_s(self._postponed)

    def _fail(self, error: BaseException) -> None:
        self._failures += 1
        self._retry_at = time.monotonic() + self._around.options.pause_s(self._failures)
        self._log_failure(error)
        folder = self._guarded_release()
        if folder is not None and self._failures > 1:
            self._around.files.set_aside(self.name, folder)
        self._trouble = describe(error)
        self._set("failed", self._trouble)
        self._settled.set()
        self._around.progressed()

    def _log_failure(self, error: BaseException) -> None:
        organization_id, failures = self._around.organization_id, self._failures
        log.error("index_failed", organization_id=organization_id, index=self.name, failures=failures, exc_info=error)

    def _raise_reported(self) -> None:
        with self._lock:
            error, self._reported = self._reported, None
        if error is not None:
            raise error

    def _guarded_release(self) -> Path | None:
        try:
            return self._release()
        except Exception:  # closing what is broken may break, too
            log.exception("index_not_closed", organization_id=self._around.organization_id, index=self.name)
            return None

    def _retire(self, handle: Handle[Any]) -> Path:
        self._leaving = handle
        handle.retire()
        handle.wait_closed(WAIT_FOR_READERS_S)
        return handle.folder

    def _wait_for_readers(self) -> None:
        if self._leaving is not None and not self._leaving.wait_closed(WAIT_FOR_READERS_S):
            raise TimeoutError("Searches still hold the index that failed.")

    def _finish(self) -> None:
        self._settled.set()
        with self._lock:
            self._final = self._recorded()
        self._guarded_release()
        self._answer(Interrupted("The organization was closed."))

    def _asked_to_rebuild(self) -> bool:
        with self._lock:
            new, self._asking = self._asking, []
            self._promised += new
        return bool(new)

    def _answer(self, error: BaseException | None = None) -> None:
        with self._lock:
            promised, self._promised = self._promised, []
            if isinstance(error, Interrupted):
                promised, self._asking = promised + self._asking, []
        for done in promised:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def _set(self, state: State, detail: str = "") -> None:
        with self._lock:
            self._state, self._detail = state, detail

    def _took(self, seconds: float) -> None:
        self._commit_s = seconds

    def _unhurried_s(self) -> float:
        options = self._around.options
        return max(options.gather_unhurried_s, min(GATHER_SHARE * self._commit_s, options.gather_deferred_s))

    def _erase_soon(self, erasable: int) -> None:
        if erasable:
            self._commits += 1
            self._last_work_at -= timedelta(seconds=self._around.options.quiet_s)

    def _done(self) -> None:
        self._failures, self._trouble = 0, ""
        self._advanced()

    def _advanced(self) -> None:
        self._commits += 1
        self._last_work_at = self._around.clock()
        self._around.progressed()

    def _compaction_due(self, commits: int | None = None) -> bool:
        if not self._commits or time.monotonic() < self._compact_not_before:
            return False
        quiet_s = (self._around.clock() - self._last_work_at).total_seconds()
        return quiet_s >= self._around.options.quiet_s or (commits is not None and self._commits >= commits)

    def _compact(self, compact: Callable[[], None]) -> None:
        begin = time.monotonic()
        compact()
        end = time.monotonic()
        self._commits, self._compact_not_before = 0, end + COMPACTION_SHARE * (end - begin)

    def _rest(self) -> float:
        return max(self._around.options.quiet_s, 0.01) if self._commits else FOREVER


def log_refused(organization_id: str, index: IndexName, kind: str, record_id: str, reason: str) -> None:
    # Not as `organization_id`: its owners read those lines, and the record may be somebody's own.
    log.error("record_refused", organization=organization_id, index=index, kind=kind, id=record_id, reason=reason)


def describe(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
