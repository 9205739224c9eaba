"""Waiting until a write is in the indexes of one organization."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    names: tuple[str, ...]
    hopeful: bool
    """One of them will hold it soon."""


@dataclass(frozen=True, slots=True, eq=False)
class Waiter:
    sequence: int
    record_ids: Sequence[str]
    done: "Future[list[str]]"


class Waits:
    """Waiters for writes, as futures. The result names the indexes without the write."""

    def __init__(self, missing: Callable[[int, Sequence[str]], Missing]) -> None:
        self._missing = missing
        self._lock = threading.Lock()
        self._waiters: list[Waiter] = []
        self._over = False

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, sequence: int, record_ids: Sequence[str]) -> "Future[list[str]]":
        waiter = Waiter(sequence, record_ids, Future())
        with self._lock:
            self._waiters.append(waiter)
        self._settle(waiter)
        if self._over:
            self._answer(waiter, self._missing(sequence, record_ids))
        return waiter.done

    def review(self) -> None:
        """Answer those whose write is indexed, or will not be."""
        with self._lock:
            waiters = list(self._waiters)
        for waiter in waiters:
            self._settle(waiter)

    def end(self) -> None:
        with self._lock:
            self._over = True
            waiters = list(self._waiters)
        for waiter in waiters:
            self._answer(waiter, self._missing(waiter.sequence, waiter.record_ids))

    def _settle(self, waiter: Waiter) -> None:
        missing = self._missing(waiter.sequence, waiter.record_ids)
        if not missing.hopeful or waiter.done.done():
            self._answer(waiter, missing)

    def _answer(self, waiter: Waiter, missing: Missing) -> None:
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        # It may be cancelled, or answered by another thread.
        with suppress(InvalidStateError):
            waiter.done.set_result(list(missing.names))
