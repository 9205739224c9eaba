"""When to read something of a whole organization ahead: in a thread, once enough requests could have used it."""

import threading
import time
from collections import Counter
from collections.abc import Callable

import structlog

ENOUGH = 5
"""Requests that do without before the reading begins."""
REST_SHARE = 20.0
"""After a reading, so many times what it took passes before the next one of that organization."""

log = structlog.get_logger("ledger")


class Gathering:
    """One thread at a time. Safe to use from any thread."""

    def __init__(self, read: Callable[[str], object]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, organization_id: str) -> None:
        """Note that a request of an organization could have used it."""
        with self._lock:
            self._asked[organization_id] += 1
            if self._asked[organization_id] >= ENOUGH:
                self._begin(organization_id)

    def prepare(self, organization_id: str) -> None:
        """Read before any request asks, where nothing else is being read."""
        with self._lock:
            self._begin(organization_id)

    def close(self) -> None:
        """Begin no reading any more, and wait for the one that is under way."""
        with self._lock:
            self._closed = True
        if self._thread is not None:
            self._thread.join()

    def _begin(self, organization_id: str) -> None:
        is_early = time.monotonic() < self._not_before.get(organization_id, 0.0)
        is_busy = self._thread is not None and self._thread.is_alive()
        if self._closed or is_early or is_busy:
            return
        self._asked.pop(organization_id, None)
        self._thread = threading.Thread(target=self._run, args=(organization_id,), name="standings", daemon=True)
        self._thread.start()

    def _run(self, organization_id: str) -> None:
        begin = time.monotonic()
        try:
            self._read(organization_id)
        except Exception:  # the thread's edge: requests do without
            log.exception("standings_not_read", organization_id=organization_id)
        end = time.monotonic()
        with self._lock:
            self._not_before[organization_id] = end + REST_SHARE * (end - begin)
