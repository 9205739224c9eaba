"""Worker threads that read texts for the indexes, and make way for searches.

A passage takes up to 200 ms of one core, a query 20 ms of two.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

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
        found = self._read_all(read, texts, lambda: True)
        return [found[number] for number in range(len(texts))]

    def map_until_search(self, read: Callable[[str], Result], texts: Sequence[str]) -> list[Result | None]:
        """Read texts until a search arrives; None for what failed or was not begun."""

        def attempt(text: str) -> Result | None:
            with suppress(Exception):
                return read(text)
            return None

        found = self._read_all(attempt, texts, lambda: self.available > 1)
        return [found.get(number) for number in range(len(texts))]

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            helpers, self._helpers = self._helpers, None
        if helpers is not None:
            helpers.shutdown(cancel_futures=True)

    def _read_all(
        self, read: Callable[[str], Result], texts: Sequence[str], goes_on: Callable[[], bool]
    ) -> dict[int, Result]:
        found: dict[int, Result] = {}
        # Threads share the iterator: each takes the next number.
        numbers, is_over = iter(range(len(texts))), threading.Event()

        def work(goes_on: Callable[[], bool]) -> None:
            try:
                while not is_over.is_set() and goes_on() and (number := next(numbers, None)) is not None:
                    found[number] = read(texts[number])
            except BaseException:
                is_over.set()
                raise

        helping = self._submitted(work, min(self.available, len(texts)) - 1)
        try:
            work(goes_on)
        finally:
            is_over.set()
            begun = [each for each in helping if not each.cancel()]
            faults = [fault for each in begun if (fault := each.exception()) is not None]
        if faults:
            raise faults[0]
        return found

    def _submitted(self, work: Callable[[Callable[[], bool]], None], helpers: int) -> list["Future[None]"]:
        helping: list[Future[None]] = []
        with self._lock, suppress(RuntimeError):  # no further thread can be started
            for _ in range(0 if self._is_closed else helpers):
                if self._helpers is None:
                    self._helpers = ThreadPoolExecutor(self._most - 1, "reading", yield_to_others)
                helping.append(self._helpers.submit(work, lambda: self.available > 1))
        return helping
