"""Neighbours in threads, in memory: some 260 bytes for each record in one."""

import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import NamedTuple

from stores.language.speakers import NOBODY
from stores.threads import SEPARATES, ThreadPlace

MOST_THREADED = 200_000
"""Above it none has neighbours until the index is opened again."""

Placed = tuple[int, ThreadPlace]


class Alongside(NamedTuple):
    """Pairs of a record and a neighbour in its thread, grouped by record."""

    owners: list[int]
    """Positions in the question, ascending."""
    keys: list[int]
    distances: list[int]


class Threads:
    """Read at the first use. Thread-safe."""

    def __init__(self, read: Callable[[], Iterable[Placed]]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._places: dict[int, ThreadPlace] = {}
        self._threads: dict[int, list[tuple[int, int]]] = {}
        """Places and keys, ascending."""
        self._is_filled = False
        self._is_full = False

    def update(self, placed: Iterable[tuple[int, ThreadPlace | None]]) -> None:
        """Set the place of each record by its key; None removes it."""
        with self._lock:
            self._fill()
            for key, place in () if self._is_full else placed:
                self._drop(key)
                if place is not None:
                    self._put(key, place)
            self._check_room()

    def around(self, keys: Iterable[int], radius: int) -> Alongside:
        found = Alongside([], [], [])
        with self._lock:
            self._fill()
            for owner, key in enumerate(keys):
                place = self._places.get(key)
                if place is not None and place.speaker != SEPARATES:
                    self._add(found, owner, key, place, radius)
        return found

    def speakers_of(self, keys: Iterable[int]) -> list[int]:
        with self._lock:
            self._fill()
            places = map(self._places.get, keys)
            return [NOBODY if place is None or place.speaker == SEPARATES else place.speaker for place in places]

    def _add(self, found: Alongside, owner: int, key: int, place: ThreadPlace, radius: int) -> None:
        thread = self._threads[place.thread]
        at = bisect_left(thread, (place.order, key))
        before = self._until_separated(reversed(thread[max(at - radius, 0) : at]))[::-1]
        after = self._until_separated(thread[at + 1 : at + 1 + radius])
        found.owners.extend([owner] * (len(before) + len(after)))
        found.keys.extend([*before, *after])
        found.distances.extend([*range(len(before), 0, -1), *range(1, len(after) + 1)])

    def _until_separated(self, turns: Iterable[tuple[int, int]]) -> list[int]:
        return list(takewhile(lambda key: self._places[key].speaker != SEPARATES, (key for _, key in turns)))

    def _fill(self) -> None:
        if self._is_filled:
            return
        for key, place in self._read():
            self._places[key] = place
            self._threads.setdefault(place.thread, []).append((place.order, key))
        for thread in self._threads.values():
            thread.sort()
        self._is_filled = True
        self._check_room()

    def _check_room(self) -> None:
        if len(self._places) > MOST_THREADED:
            self._is_full = True
            self._places.clear()
            self._threads.clear()

    def _put(self, key: int, place: ThreadPlace) -> None:
        self._places[key] = place
        insort(self._threads.setdefault(place.thread, []), (place.order, key))

    def _drop(self, key: int) -> None:
        if (place := self._places.pop(key, None)) is None:
            return
        thread = self._threads[place.thread]
        del thread[bisect_left(thread, (place.order, key))]
        if not thread:
            del self._threads[place.thread]
