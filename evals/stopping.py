"""SIGTERM as Ctrl-C, so that `finally` blocks stop the server."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `KeyboardInterrupt` on SIGTERM in the block; in the main thread only."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
