"""Readers-writer lock."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Readers-writer lock that prefers writers. Not re-entrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = 0
        self._wanted_alone = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._wanted_alone)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._changed:
            self._wanted_alone += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._sharing)
            finally:
                self._wanted_alone -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
