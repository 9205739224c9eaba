"""Worker threads that read texts for the indexes, and make way for searches.

A passage takes up to 200 ms of one core, a query 20 ms of two.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, Generic, TypeVar

from stores.processor import yield_to_others

Result = TypeVar("Result")
QUIET_S: Final = 5.0
"""After the last search, until texts are read in parallel again."""


class Workers:
    """Threads that help the calling one. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._helpers: ThreadPoolExecutor | None = None
        self._is_closed = False
        self._searched_at = -QUIET_S

    @property
    def available(self) -> int:
        is_quiet = time.monotonic() - self._searched_at >= QUIET_S
        return self._most if is_quiet and not self._is_closed else 1

    def make_way(self) -> None:
        """Note a search: helpers begin no other text for `QUIET_S`."""
        self._searched_at = time.monotonic()

    def map(self, read: Callable[[str], Result], texts: Sequence[str]) -> list[Result]:
        """Read texts on all threads, in order; raise the first error once no text is being read any more."""
        job = _Job(read, texts)
        self._run(job, lambda: True)
        return [job.found[number] for number in range(len(texts))]

    def map_until_search(self, read: Callable[[str], Result], texts: Sequence[str]) -> list[Result | None]:
        """Read texts until a search arrives; None for what failed or was not begun."""

        def attempt(text: str) -> Result | None:
            with suppress(Exception):
                return read(text)
            return None

        job = _Job(attempt, texts)
        self._run(job, lambda: self.available > 1)
        return [job.found.get(number) for number in range(len(texts))]

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            helpers, self._helpers = self._helpers, None
        if helpers is not None:
            helpers.shutdown(cancel_futures=True)

    def _run(self, job: "_Job[Result]", goes_on: Callable[[], bool]) -> None:
        helping: list[Future[None]] = []
        try:
            self._submit(job, min(self.available, len(job.texts)) - 1, helping)
            job.work(goes_on)
        finally:
            job.end()
            begun = [each for each in helping if not each.cancel()]
            faults = [fault for each in begun if (fault := each.exception()) is not None]
        if faults:
            raise faults[0]

    def _submit(self, job: "_Job[Result]", helpers: int, helping: list["Future[None]"]) -> None:
        with self._lock, suppress(RuntimeError):  # no further thread can be started
            for _ in range(0 if self._is_closed else helpers):
                if self._helpers is None:
                    self._helpers = ThreadPoolExecutor(self._most - 1, "reading", yield_to_others)
                helping.append(self._helpers.submit(job.work, lambda: self.available > 1))


class _Job(Generic[Result]):
    def __init__(self, read: Callable[[str], Result], texts: Sequence[str]) -> None:
        self.texts = texts
        self.found: dict[int, Result] = {}
        self._read = read
        self._lock = threading.Lock()
        self._next = 0

    def work(self, goes_on: Callable[[], bool]) -> None:
        while goes_on() and (number := self._taken()) < len(self.texts):
            try:
                self.found[number] = self._read(self.texts[number])
            except BaseException:
                self.end()
                raise

    def end(self) -> None:
        with self._lock:
            self._next = len(self.texts)

    def _taken(self) -> int:
        with self._lock:
            number = self._next
            self._next = min(number + 1, len(self.texts))
            return number
