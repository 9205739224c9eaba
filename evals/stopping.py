"""SIGTERM as Ctrl-C, so that `finally` blocks run and no server is left behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM raise `KeyboardInterrupt` in the block, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
