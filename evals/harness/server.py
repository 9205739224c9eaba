"""The server that is asked: one of the harness's own, or one that is given by its address."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.process import resident_mb
from tools.client_settings import PREFIX
from tools.launch import server_process

_OWN = {"LOG_LEVEL": "warning", "RATE_LIMIT_ENABLED": "false", "ACCESS_TOKEN_EXPIRE_MINUTES": "1440"}


@dataclass(frozen=True, slots=True)
class Target:
    """A server that answers."""

    address: str
    pid: int | None = None
    """Of the process, where it is ours."""

    def memory_mb(self) -> tuple[float | None, float | None]:
        """Return the resident memory and its peak; unknown of a server elsewhere."""
        return resident_mb(self.pid) if self.pid is not None else (None, None)


@contextmanager
def served(folder: Path, environ: Mapping[str, str], url: str | None) -> Iterator[Target]:
    """Serve a data folder with these settings and no others of the user's, until the block ends."""
    if url:
        yield Target(url.rstrip("/"))
        return
    blank = {name: "" for name in os.environ if name.startswith(PREFIX)}
    own = {f"{PREFIX}{name}": value for name, value in _OWN.items()}
    with server_process(folder, environ={**blank, **own, **environ}) as server:
        yield Target(server.address, server.process.pid)
