"""Deferred Ctrl-C and SIGTERM for steps that must be completed."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

_STOPS = frozenset({signal.SIGINT, signal.SIGTERM})


@contextmanager
def put_off() -> Iterator[None]:
    """Defer interrupts of the main thread until the block ends."""
    with _masked(signal.SIG_BLOCK):
        yield


def run_interruptible(work: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run like `asyncio.run`, interruptible only during the work.

    An event loop that is interrupted while it is made cannot be closed.
    """

    async def let_in() -> None:
        with _masked(signal.SIG_UNBLOCK):
            await work()

    with put_off(), asyncio.Runner() as runner:
        runner.run(let_in())


@contextmanager
def _masked(how: signal.Sigmasks) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(how, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
