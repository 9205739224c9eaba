"""Which records have a mark: in memory, some 70 bytes for each that has it."""

import threading
from collections.abc import Callable, Iterable


class Marked:
    """One writer; reads may come from any thread. Filled by the first who asks or writes."""

    def __init__(self, read: Callable[[], Iterable[int]]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._keys: set[int] | None = None

    def update(self, gone: Iterable[int], marked: Iterable[int]) -> None:
        """Take the mark from records, by their keys, and give it to others; what is in both has it."""
        with self._lock:
            keys = self._filled()
            keys.difference_update(gone)
            keys.update(marked)

    def among(self, keys: Iterable[int]) -> list[bool]:
        """Whether each has the mark."""
        with self._lock:
            return list(map(self._filled().__contains__, keys))

    def _filled(self) -> set[int]:
        if self._keys is None:
            self._keys = set(self._read())
        return self._keys
