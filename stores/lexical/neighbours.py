"""Which records stand next to each other in a thread: in memory, some 260 bytes for each record that has one."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

from stores.language.speakers import NOBODY
from stores.threads import ThreadPlace

MOST_THREADED = 200_000
"""Records in threads of one organization; where there are more, none has neighbours until the index is opened again."""

Placed = tuple[int, ThreadPlace]
"""A record's key and its place."""


class Alongside(NamedTuple):
    """Pairs of a record and one that stands near it in its thread, those of one record behind each other."""

    owners: list[int]
    """Which of the records that were asked about, counted from 0, ascending."""
    keys: list[int]
    """The keys of those that stand near."""
    distances: list[int]
    """How many places away they are."""


class _Thread(NamedTuple):
    """The records of one thread."""

    order: list[tuple[int, int]]
    """Where each stands, and its key, ascending."""
    keys: list[int]
    """The keys alone, in the same order."""


class Threads:
    """One writer; reads may come from any thread. Filled by the first who asks or writes."""

    def __init__(self, read: Callable[[], Iterable[Placed]], most: int | None = None) -> None:
        self._read = read
        self._most = MOST_THREADED if most is None else most
        self._lock = threading.Lock()
        self._places: dict[int, ThreadPlace] = {}
        self._threads: dict[int, _Thread] = {}
        self._is_filled = False
        self._is_full = False

    def update(self, placed: Iterable[tuple[int, ThreadPlace | None]]) -> None:
        """Put each record, by its key, where it stands now; with None it is in no thread or gone."""
        with self._lock:
            self._fill()
            for key, place in () if self._is_full else placed:
                self._drop(key)
                if place is not None:
                    self._put(key, place)
            self._check_room()

    def around(self, keys: Iterable[int], radius: int) -> Alongside:
        """Those that stand at most so many places away from each."""
        found = Alongside([], [], [])
        with self._lock:
            self._fill()
            for owner, key in enumerate(keys):
                place = self._places.get(key)
                if place is not None:
                    self._add(found, owner, key, place, radius)
        return found

    def speakers_of(self, keys: Iterable[int]) -> list[int]:
        """Who says each of some records."""
        with self._lock:
            self._fill()
            places = map(self._places.get, keys)
            return [NOBODY if place is None else place.speaker for place in places]

    def _add(self, found: Alongside, owner: int, key: int, place: ThreadPlace, radius: int) -> None:
        thread = self._threads[place.thread]
        at = bisect_left(thread.order, (place.order, key))
        before, after = thread.keys[max(at - radius, 0) : at], thread.keys[at + 1 : at + 1 + radius]
        found.owners.extend([owner] * (len(before) + len(after)))
        found.keys.extend(before)
        found.keys.extend(after)
        found.distances.extend(_distances(len(before), len(after)))

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


@cache
def _distances(before: int, after: int) -> tuple[int, ...]:
    """How far away they are that stand before and after a record."""
    return *range(before, 0, -1), *range(1, after + 1)
