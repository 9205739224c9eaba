"""Spinner for operations of more than a second."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE_S = 1.0


@contextmanager
def waiting(said: str = "The server is at work …") -> Iterator[None]:
    """Say so on a terminal's standard error once the block takes longer than `PATIENCE_S`."""
    if not sys.stderr.isatty():
        yield
        return
    begun: list[Status] = []

    def begin() -> None:
        from rich.console import Console  # noqa: PLC0415 - only for slow answers

        begun.append(Console(stderr=True).status(said))
        begun[0].start()

    timer = Timer(PATIENCE_S, begin)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in begun:
            status.stop()
