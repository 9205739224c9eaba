"""Neighbours in threads, in memory: some 260 bytes for each record in one."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
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


class _Thread(NamedTuple):
    order: list[tuple[int, int]]
    """(place, key), ascending."""
    keys: list[int]


class Threads:
    """Read at the first use. Thread-safe."""

    def __init__(self, read: Callable[[], Iterable[Placed]], most: int | None = None) -> None:
        self._read = read
        self._most = MOST_THREADED if most is None else most
        self._lock = threading.Lock()
        self._places: dict[int, ThreadPlace] = {}
        self._threads: dict[int, _Thread] = {}
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
        at = bisect_left(thread.order, (place.order, key))
        before = self._until_separated(thread.keys[max(at - radius, 0) : at][::-1])[::-1]
        after = self._until_separated(thread.keys[at + 1 : at + 1 + radius])
        found.owners.extend([owner] * (len(before) + len(after)))
        found.keys.extend(before)
        found.keys.extend(after)
        found.distances.extend(range(len(before), 0, -1))
        found.distances.extend(range(1, len(after) + 1))

    def _until_separated(self, keys: list[int]) -> list[int]:
        separators = (at for at, key in enumerate(keys) if self._places[key].speaker == SEPARATES)
        return keys[: next(separators, len(keys))]

    def _fill(self) -> None:
        if self._is_filled:
            return
        for key, place in self._read():
            self._places[key] = place
            self._threads.setdefault(place.thread, _Thread([], [])).order.append((place.order, key))
        for thread in self._threads.values():
            thread.order.sort()
            thread.keys.extend(key for _, key in thread.order)
        self._is_filled = True
        self._check_room()

    def _check_room(self) -> None:
        if len(self._places) > self._most:
            self._is_full = True
            self._places.clear()
            self._threads.clear()

    def _put(self, key: int, place: ThreadPlace) -> None:
        self._places[key] = place
        thread = self._threads.setdefault(place.thread, _Thread([], []))
        at = bisect_left(thread.order, (place.order, key))
        thread.order.insert(at, (place.order, key))
        thread.keys.insert(at, key)

    def _drop(self, key: int) -> None:
        place = self._places.pop(key, None)
        if place is None:
            return
        thread = self._threads[place.thread]
        at = bisect_left(thread.order, (place.order, key))
        del thread.order[at], thread.keys[at]
        if not thread.keys:
            del self._threads[place.thread]
