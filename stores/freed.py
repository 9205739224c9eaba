"""Memory that was freed, given back to the system: the C library of Linux keeps most of it for what comes next."""

import ctypes
import time
from collections.abc import Callable

PAUSE_S = 60.0
"""Giving back may take half a second of one processor, in which threads wait that ask for memory at the same place."""


def library_trim() -> Callable[[int], int] | None:
    """Return glibc's function for it; None with another C library."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found


class FreedMemory:
    """Gives back at most once a minute, and only after something was freed. For one thread, never that of requests."""

    def __init__(self, trim: Callable[[int], int] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._trim = trim or library_trim()
        self._clock = clock
        self._is_freed = False
        self._not_before = 0.0

    def note(self) -> None:
        """Take note that much was freed."""
        self._is_freed = True

    def give_back(self) -> None:
        """Give back what was freed, where that is due. Other threads run meanwhile."""
        if self._trim is None or not self._is_freed or self._clock() < self._not_before:
            return
        self._is_freed = False
        self._trim(0)
        self._not_before = self._clock() + PAUSE_S
