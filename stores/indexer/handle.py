"""Open index, shared by one writer and any number of readers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from stores.index import StoredIndex

T = TypeVar("T", bound=StoredIndex)


@contextmanager
def closing_on_error(index: StoredIndex) -> Iterator[None]:
    try:
        yield
    except BaseException:
        index.close()
        raise


class Handle(Generic[T]):
    """Reference-counted index: closed once it is retired and the last reader has let go."""

    def __init__(self, index: T, folder: Path) -> None:
        self.index = index
        self.folder = folder
        self._lock = threading.Lock()
        self._readers = 0
        self._retired: Callable[[], None] | None = None
        self._closed = threading.Event()

    def acquire(self) -> bool:
        with self._lock:
            if self._retired is not None:
                return False
            self._readers += 1
            return True

    def release(self) -> None:
        with self._lock:
            self._readers -= 1
            last = self._retired is not None and self._readers == 0
        if last:
            self._close()

    def retire(self, then: Callable[[], None] = lambda: None) -> None:
        """Admit no more readers, close after the last one, then call `then`. Idempotent."""
        with self._lock:
            if self._retired is not None:
                return
            self._retired = then
            idle = self._readers == 0
        if idle:
            self._close()

    def wait_closed(self, timeout_s: float) -> bool:
        return self._closed.wait(timeout_s)

    def _close(self) -> None:
        then = self._retired
        try:
            self.index.close()
        finally:
            # Ended lanes keep their handles for a while.
            del self.index
            self._closed.set()
            if then is not None:
                then()
