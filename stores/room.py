"""Memory budget that copies of indexes share."""

import threading
from collections import OrderedDict
from typing import Protocol

REST_SHARE = 20.0
"""Pause before a copy is read again, in multiples of the time that reading it took."""


class Owner(Protocol):
    def drop(self) -> None:
        """Free the memory. Any thread may call it."""


class Room:
    """Evicts the least recently used copy. Thread-safe."""

    def __init__(self, budget_bytes: int) -> None:
        self.budget = budget_bytes
        self._lock = threading.Lock()
        self._sizes: OrderedDict[Owner, int] = OrderedDict()

    def take(self, owner: Owner, size: int) -> bool:
        """Reserve memory, evicting others; False where it never fits."""
        if size > self.budget:
            return False
        dropped: list[Owner] = []
        with self._lock:
            self._sizes[owner] = size
            while sum(self._sizes.values()) > self.budget:
                dropped.append(self._sizes.popitem(last=False)[0])
        for each in dropped:
            each.drop()
        return True

    def use(self, owner: Owner) -> None:
        with self._lock:
            if owner in self._sizes:
                self._sizes.move_to_end(owner)

    def leave(self, owner: Owner) -> None:
        with self._lock:
            self._sizes.pop(owner, None)
