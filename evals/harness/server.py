"""The server that is asked: one of the harness's own, or one that is given by its address."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.client import Client
from evals.machine import UNKNOWN, Subject, library_versions
from evals.options import Options
from evals.process import resident_mb
from evals.runs.record import MEASURED_WITH, asker
from stores.errors import EngrainError
from tools.client_settings import PREFIX
from tools.launch import server_process

_OWN = {"LOG_LEVEL": "warning", "RATE_LIMIT_ENABLED": "false", "ACCESS_TOKEN_EXPIRE_MINUTES": "1440"}


@dataclass(frozen=True, slots=True)
class Target:
    """A server that answers."""

    address: str
    pid: int | None = None
    """Of the process, where it is ours."""

    @property
    def is_ours(self) -> bool:
        """Whether the harness has started it, for itself alone."""
        return self.pid is not None

    def memory_mb(self) -> tuple[float | None, float | None]:
        """Return the resident memory and its peak; unknown of a server elsewhere."""
        return resident_mb(self.pid) if self.pid is not None else (None, None)


@contextmanager
def served(folder: Path, environ: Mapping[str, str], url: str | None) -> Iterator[Target]:
    """Serve a data folder with these settings and no others of the user's, until the block ends."""
    if url:
        yield Target(url)
        return
    blank = {name: "" for name in os.environ if name.startswith(PREFIX)}
    own = {f"{PREFIX}{name}": value for name, value in _OWN.items()}
    with server_process(folder, environ={**blank, **own, **environ}) as server:
        yield Target(server.address, server.process.pid)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The server that a run asks, as its record keeps it."""

    command: Mapping[str, Any]
    settings: Mapping[str, Any]
    subject: Subject | None = None
    """What a server elsewhere says that it is; None for one of this checkout."""


def wanted_server(options: Options, *, by_several: bool = False) -> Wanted:
    """Say which server a run is to ask: one that is started with the settings that were given, or one elsewhere.

    Args:
        options: What the user asks for.
        by_several: Whether the suite asks as several users of one organization, which it has to make for that.

    Raises:
        EngrainError: The server elsewhere is to have other settings or does not answer, or a key is given for several.
    """
    command = {"name": options.name, "url": options.url}
    if not options.url:
        return Wanted(command, {"server": dict(options.server)})
    if options.server:
        raise EngrainError(
            f"The server at {options.url} has its own settings, not {', '.join(options.server)}. Leave --setting out,"
            " or leave --url out to have a server started."
        )
    if options.key and by_several:
        raise EngrainError(
            "Several users of one organization are needed here, and a key is of one: unset ENGRAIN_TOKEN, so that"
            f" accounts are signed up at {options.url}."
        )
    elsewhere = described(options.url, options.key)
    # Of a server elsewhere the record holds nothing of this checkout but that it is what asked. And what is stored
    # already lies where this key opens: with another one nothing of it would be found.
    key_of = {"key_of": dict(elsewhere.key_of)} if elsewhere.key_of else {}
    return Wanted(command, {"server": dict(elsewhere.parts), "asked_by": asker(), **key_of}, elsewhere.subject)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A server that runs already, as it describes itself."""

    subject: Subject
    parts: Mapping[str, str]
    """What it keeps its records in, and what embeds them."""
    key_of: Mapping[str, str]
    """Whose the key is, by the ids that the server gives; empty without one."""


def described(url: str, key: str) -> Elsewhere:
    """Ask a server what it is; what it does not tell is not known, whatever this checkout is.

    Raises:
        EngrainError: No Engrain server answers there, it is not ready, or it does not accept the key.
    """
    with Client(url, key) as client:
        said, ready = client.get("/api/health"), client.get("/api/health/ready")
        owner = _owner(client.get("/api/auth/me")) if key else {}
    runtime = said.get("runtime")
    if not isinstance(runtime, dict) or runtime.get("name") != "engrain":
        raise EngrainError(f"What answers at {url} is no Engrain server. Check the address and the port.")
    told = {name: str(value) for name, value in ((n, runtime.get(n)) for n in ("commit", "model")) if value}
    subject = Subject(
        commit=told.get("commit", UNKNOWN),
        version=str(said.get("version") or UNKNOWN),
        model=told.get("model", UNKNOWN),
        versions=library_versions(MEASURED_WITH),
    )
    return Elsewhere(subject, _parts(ready.get("dependencies")), owner)


def _owner(me: Mapping[str, object]) -> dict[str, str]:
    """The organization, in whose projects things are stored, and the user, who may read them."""
    found = {}
    for name in ("organization", "user"):
        said = me.get(name)
        found[name] = str(said.get("id") or UNKNOWN) if isinstance(said, dict) else UNKNOWN
    return found


def _parts(dependencies: object) -> dict[str, str]:
    """The ledger's engine and the provider of the model; whether they are ready at this moment is nothing of a run."""
    by_name = _by_name(dependencies)
    return {
        "ledger": str(by_name.get("ledger", {}).get("backend") or UNKNOWN),
        "embedder": str(by_name.get("embedder", {}).get("detail") or UNKNOWN).partition(":")[0],
    }


def _by_name(dependencies: object) -> dict[str, dict[str, Any]]:
    listed = [each for each in dependencies if isinstance(each, dict)] if isinstance(dependencies, list) else []
    return {str(each.get("name")): each for each in listed}
