"""The demo's own server process."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.demo.clients import DemoFailed
from stores.errors import Unavailable
from tools.runtime.launch import server_process
from tools.runtime.settings import PREFIX


@dataclass(frozen=True, slots=True)
class RunningServer:
    address: str
    pid: int
    start_s: float


@contextmanager
def running_server(folder: Path, environ: Mapping[str, str]) -> Iterator[RunningServer]:
    """Run `engrain serve` on a folder and a free port until the block ends.

    Raises:
        DemoFailed: It stopped or was not ready in time.
    """
    started = time.monotonic()
    try:
        with server_process(folder, environ=without_settings(environ)) as server:
            yield RunningServer(server.address, server.process.pid, time.monotonic() - started)
    except Unavailable as error:
        raise DemoFailed(error.message) from None


def without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Blank the user's settings: the demo must not write into a real database."""
    blank = {name: "" for name in environ if name.startswith(PREFIX)}
    return blank | {f"{PREFIX}LOG_LEVEL": "warning"}
