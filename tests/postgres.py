"""A real PostgreSQL of the tests' own: on a free loopback port, in a temporary folder, stopped at the end."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

FAST = {
    "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200",
    "shared_buffers": "64MB", "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
}  # fmt: skip
STARTS = 3


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server. Anybody on the loopback may connect as `postgres`."""

    port: int

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def create_database(self, *, copy_of: str | None = None, encoding: str = "UTF8") -> str:
        name = f"ledger_{uuid4().hex}"
        template = "template0" if copy_of is None else _name_in(copy_of)
        locale = "LC_COLLATE 'C' LC_CTYPE 'C'"
        self._administer(f"CREATE DATABASE {name} TEMPLATE {template} ENCODING '{encoding}' {locale}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        self._administer(f"DROP DATABASE {_name_in(url)} WITH (FORCE)")

    def disconnect_all(self, url: str) -> None:
        self._administer(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{_name_in(url)}'")

    def _administer(self, statement: str) -> None:
        address = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(statement.encode())


def _name_in(url: str) -> str:
    return url.rpartition("/")[2]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server of this test run; tests that ask for it are skipped where no PostgreSQL is installed."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL is installed (initdb and pg_ctl were not found)")
    user = unprivileged_user()
    if os.geteuid() == 0 and user is None:
        pytest.skip("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`")
    with running_server(binaries, user) as server:
        yield server


def find_binaries() -> Path | None:
    on_path = shutil.which("pg_ctl")
    if on_path and Path(on_path).with_name("initdb").exists():
        return Path(on_path).parent
    installed = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    return max(installed, key=lambda path: int(path.parent.name), default=None)


def unprivileged_user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return known.get("postgres") or known.get("nobody")


def memory_folder() -> Path | None:
    shared = Path("/dev/shm")  # noqa: S108  (mkdtemp makes a private folder in it)
    return shared if shared.is_dir() and shutil.disk_usage(shared).free > 2**30 else None


@contextmanager
def running_server(binaries: Path, user: pwd.struct_passwd | None) -> Iterator[PostgresServer]:
    """Start a server in a new temporary folder; stop it with `pg_ctl` and delete the folder at the end."""
    folder = Path(tempfile.mkdtemp(prefix="engrain-postgres-", dir=memory_folder()))
    try:
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data = folder / "data"
        run_as(user, binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "-N")
        port = start(binaries, user, folder)
        try:
            yield PostgresServer(port)
        finally:
            run_as(user, binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def start(binaries: Path, user: pwd.struct_passwd | None, folder: Path) -> int:
    for attempt in range(STARTS):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        options = " ".join(f"-c {name}='{value}'" for name, value in {**FAST, "port": str(port)}.items())
        data, log = folder / "data", folder / f"log-{attempt}"
        try:
            run_as(user, binaries / "pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "-t", "60", "start")
        except subprocess.CalledProcessError:
            if attempt == STARTS - 1:
                raise
        else:
            return port
    raise AssertionError("unreachable")


def run_as(user: pwd.struct_passwd | None, *arguments: str | Path) -> None:
    command = [str(argument) for argument in arguments]
    identity: dict[str, Any] = {}
    if user is not None:
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **identity)
