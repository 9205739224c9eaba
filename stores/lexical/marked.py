"""In-memory set of marked records; some 70 bytes each."""

import threading
from collections.abc import Callable, Iterable


class Marked:
    """Set of record keys, read from the index at its first use. Thread-safe."""

    def __init__(self, read: Callable[[], Iterable[int]]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._keys: set[int] | None = None

    def update(self, gone: Iterable[int], marked: Iterable[int]) -> None:
        with self._lock:
            keys = self._filled()
            keys.difference_update(gone)
            keys.update(marked)

    def among(self, keys: Iterable[int]) -> list[bool]:
        with self._lock:
            return list(map(self._filled().__contains__, keys))

    def _filled(self) -> set[int]:
        if self._keys is None:
            self._keys = set(self._read())
        return self._keys
