"""Deferred Ctrl-C and SIGTERM for steps that must be completed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STOPS = frozenset({signal.SIGINT, signal.SIGTERM})


@contextmanager
def put_off() -> Iterator[None]:
    """Defer interrupts of the main thread until the block ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
