"""How many texts are read at once for the indexes: one while people ask questions, else as many as are allowed.

A text takes a model up to a fifth of a second of one processor, and a question a tenth of that of each of two. So
whoever asks now and then waits for what was begun at most, and whoever asks all the time hardly notices.
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
"""How long nobody must have asked anything before more than one text is read at once."""


class Hands:
    """Threads that help the one that reads texts. Safe to use from any thread."""

    def __init__(self, most: int) -> None:
        """With at most so many texts at once, that of the calling thread among them."""
        self._most = most
        self._lock = threading.Lock()
        self._helpers: ThreadPoolExecutor | None = None
        self._is_closed = False
        self._asked_at = -QUIET_S

    @property
    def free(self) -> int:
        """How many texts may be read at once at present."""
        is_quiet = time.monotonic() - self._asked_at >= QUIET_S
        return self._most if is_quiet and not self._is_closed else 1

    def make_way(self) -> None:
        """Tell that somebody asks something: from now on helpers begin no other text, for a while."""
        self._asked_at = time.monotonic()

    def each(self, read: Callable[[str], Result], texts: Sequence[str]) -> list[Result]:
        """Read texts on the calling thread and on those that help; return what came of each, in order.

        Raises:
            Exception: What reading one of them raised; none is being read any more by then.
        """
        job = _Job(read, texts)
        self._work_on(job, lambda: True)
        return [job.found[number] for number in range(len(texts))]

    def some(self, read: Callable[[str], Result], texts: Sequence[str]) -> list[Result | None]:
        """Read texts until somebody asks something; return what came of each, in order.

        None stands for one that failed, and for one that was not begun any more.
        """

        def attempt(text: str) -> Result | None:
            with suppress(Exception):
                return read(text)
            return None

        job = _Job(attempt, texts)
        self._work_on(job, lambda: self.free > 1)
        return [job.found.get(number) for number in range(len(texts))]

    def close(self) -> None:
        """Let the threads end; what is running finishes."""
        with self._lock:
            self._is_closed = True
            helpers, self._helpers = self._helpers, None
        if helpers is not None:
            helpers.shutdown(cancel_futures=True)

    def _work_on(self, job: "_Job[Result]", goes_on: Callable[[], bool]) -> None:
        helping: list[Future[None]] = []
        try:
            self._set_to_work(job, min(self.free, len(job.texts)) - 1, helping)
            job.work(goes_on)
        finally:
            job.end()
            begun = [each for each in helping if not each.cancel()]
            faults = [fault for each in begun if (fault := each.exception()) is not None]
        if faults:
            raise faults[0]

    def _set_to_work(self, job: "_Job[Result]", helpers: int, helping: list["Future[None]"]) -> None:
        with self._lock, suppress(RuntimeError):  # No thread can be started: those that there are do it.
            for _ in range(0 if self._is_closed else helpers):
                if self._helpers is None:
                    self._helpers = ThreadPoolExecutor(self._most - 1, "reading", yield_to_others)
                helping.append(self._helpers.submit(job.work, lambda: self.free > 1))


class _Job(Generic[Result]):
    """Texts that several threads read, each the next one that nobody has begun."""

    def __init__(self, read: Callable[[str], Result], texts: Sequence[str]) -> None:
        self.texts = texts
        self.found: dict[int, Result] = {}
        """What came of those that are read, by their number."""
        self._read = read
        self._lock = threading.Lock()
        self._next = 0

    def work(self, goes_on: Callable[[], bool]) -> None:
        """Read one text after the other, until none is left."""
        while goes_on() and (number := self._taken()) < len(self.texts):
            try:
                self.found[number] = self._read(self.texts[number])
            except BaseException:
                self.end()
                raise

    def end(self) -> None:
        """Let nobody begin another one."""
        with self._lock:
            self._next = len(self.texts)

    def _taken(self) -> int:
        with self._lock:
            number = self._next
            self._next = min(number + 1, len(self.texts))
            return number
