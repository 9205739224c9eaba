"""SIGTERM as Ctrl-C: what is stopped ends through every `finally`, so that no server or folder of its own is left."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM raise `KeyboardInterrupt` in the block, also in the background of a shell, where Ctrl-C is ignored.

    Signals reach the main thread alone; in another nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so in the background of a shell without job control
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
