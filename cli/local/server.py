"""Find, start and stop the server that owns this user's data folder."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from cli.client.failure import CommandFailed, ExitCode, NotLoggedIn, Unreachable
from cli.locking import locked_file
from stores.folder import LOCAL_KEY, STAY, Holder, holder, is_claimed

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
ENDED_S = 2.0
IDLE_EXIT_S = 30 * 60
LOG = "server.log"
LOG_BYTES = 5_000_000
"""Size beyond which the log of the former servers is moved to `server.log.1`."""
_PAUSE_S = 0.02
_COMMAND = (sys.executable, "-P", "-c", "from cli.main import app; app()", "serve")
# -P: modules of the folder that somebody works in must not shadow ours.


@dataclass(frozen=True, slots=True)
class LocalServer:
    pid: int
    address: str
    key: str = field(repr=False)


def data_folder(environ: Mapping[str, str]) -> Path:
    if named := environ.get("ENGRAIN_DATA_DIR"):
        try:
            return Path(named).expanduser().absolute()
        except RuntimeError:
            raise CommandFailed(f"ENGRAIN_DATA_DIR={named}: there is no home folder.", code=ExitCode.USAGE) from None
    import platformdirs  # noqa: PLC0415 - not every command needs it

    return Path(platformdirs.user_data_dir("engrain", appauthor=False))


def serving(folder: Path) -> Holder | None:
    """Return the process that serves a data folder and accepts connections, if any."""
    who = holder(folder)
    # The process of an abandoned lock may be another one by now, and its address a stranger's.
    if who is None or who.address is None or not _is_alive(who.pid) or not is_claimed(folder):
        return None
    where = urlsplit(who.address)
    with suppress(OSError), socket.create_connection((where.hostname or "", where.port or 0), timeout=5):
        return who
    return None


def running(folder: Path) -> LocalServer | None:
    """Return the server of a data folder, or None; NotLoggedIn if it was started for accounts only."""
    who = serving(folder)
    if who is None or who.address is None:
        return None
    path = folder / LOCAL_KEY
    try:
        key = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise NotLoggedIn(
            f"You are not logged in to {who.address}.",
            f"Log in: engrain login --url {who.address} (or stop that server: `engrain up` starts one without logins).",
        ) from None
    except (OSError, UnicodeDecodeError):
        key = ""
    if not key:
        raise NotLoggedIn(f"{path} holds no key.", "Remove it, then `engrain stop`: the next start makes a new one.")
    return LocalServer(who.pid, who.address, key)


def ensure(folder: Path, environ: Mapping[str, str], *, idle_exit_s: int = IDLE_EXIT_S) -> LocalServer:
    """Return the server of a data folder, started if none runs; CommandFailed if it cannot be.

    Of commands that start one at the same moment, one does, and the others wait for it.
    """
    if (found := running(folder)) is not None:
        return found
    with alone(folder):
        _wait_until_free(folder)
        if (found := running(folder)) is not None:
            return found
        _start(folder, environ, idle_exit_s)
        if (found := running(folder)) is not None:
            return found
    raise Unreachable(f"The server of {folder} ended right after it had started.", f"See {folder / LOG}.")


def stop(folder: Path) -> Holder | None:
    """Stop the server of a data folder and wait until it has ended; return who it was, None if there was none."""
    (folder / STAY).unlink(missing_ok=True)
    who = serving(folder)
    if who is None:
        return None
    os.kill(who.pid, signal.SIGTERM)
    freed_at = deadline = time.monotonic() + STOP_TIMEOUT_S
    while (now := time.monotonic()) < deadline:
        freed_at = freed_at if is_claimed(folder) else min(freed_at, now)
        # One that has ended stays a process until its parent takes notice.
        if not _is_alive(who.pid) or now - freed_at > ENDED_S:
            return who
        time.sleep(_PAUSE_S)
    raise CommandFailed(
        f"Process {who.pid} did not end within {STOP_TIMEOUT_S:.0f} s.", f"End it by force: kill -9 {who.pid}"
    )


def alone(folder: Path) -> BinaryIO:
    """Keep other commands of a data folder out until this is closed, or raise CommandFailed."""
    try:
        return locked_file(folder / "start.lock", START_TIMEOUT_S + STOP_TIMEOUT_S)
    except TimeoutError:
        raise CommandFailed(
            f"Another command has been starting a server of {folder} for more than a minute.",
            "Look for it with `ps`, and end it.",
        ) from None
    except OSError as error:
        raise CommandFailed(
            f"The data folder {folder} cannot be used: {error.strerror or error}.",
            "Name one that you may write to with ENGRAIN_DATA_DIR.",
        ) from None


def _wait_until_free(folder: Path) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while is_claimed(folder) and serving(folder) is None:
        if time.monotonic() > deadline:
            named = f"process {who.pid}" if (who := holder(folder)) else "a process"
            way = f"To end it: kill -9 {who.pid}" if who else "End it first."
            raise CommandFailed(f"The data folder {folder} is held by {named}, which does not answer.", way)
        time.sleep(_PAUSE_S)


def _start(folder: Path, environ: Mapping[str, str], idle_exit_s: int) -> None:
    from tools.runtime.launch import last_words  # noqa: PLC0415 - seldom needed, and loads slowly

    log = folder / LOG
    with suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        started_at = output.tell()
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and command
            [*_COMMAND, "--port", environ.get("ENGRAIN_PORT") or "0", "--data-dir", str(folder)],
            env={
                "ENGRAIN_IDLE_EXIT_S": str(idle_exit_s),
                "ENGRAIN_SIGNUP_ENABLED": "false",  # Its owner is there; others on this machine have their own.
                **environ,
                "ENGRAIN_LOCAL_OWNER": "true",
            },
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    # It may end before this process does, and would stay a zombie.
    threading.Thread(target=process.wait, name="server-wait", daemon=True).start()
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if serving(folder) is not None:
            return
        if process.returncode is not None:
            raise Unreachable(f"The server of {folder} did not start: {last_words(log, started_at)}", f"See {log}.")
        time.sleep(_PAUSE_S)
    raise Unreachable(f"The server of {folder} is not ready after {START_TIMEOUT_S:.0f} s.", f"See {log}.")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True
