"""A server is started in less time: what is done while its modules load, and undone when it listens."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def swiftly() -> Iterator[Callable[[], None]]:
    """Collect no garbage until what is yielded is called: what modules are made of is none.

    It never is afterwards either, so that collections take less time for as long as the server runs. What multiplies
    matrices does so in the thread that asks for it, unless the environment says otherwise.
    """
    gc.disable()
    # Read when numpy is loaded. Threads of a BLAS spin while they wait for work, and take the time of everybody else's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with _hidden("rich"):
            # With it, structlog can show the local variables of a traceback. We print none, and loading it takes long.
            import structlog  # noqa: F401, PLC0415 - before anything else imports it
        yield _modules_are_loaded
    finally:
        gc.enable()


COLLECT_AFTER = (20_000, 20, 100)
"""More objects than the interpreter waits for by itself, in each generation, before it looks for garbage.

What requests leave is freed without that, but for few cycles; looking took a sixth of the time of a large write, and
a quarter of a second at once where much is remembered.
"""


def _modules_are_loaded() -> None:
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


@contextmanager
def _hidden(package: str) -> Iterator[None]:
    """Let an import of a package fail, unless it has been imported."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # documented for `sys.modules`, and not typed
    try:
        yield
    finally:
        del sys.modules[package]
