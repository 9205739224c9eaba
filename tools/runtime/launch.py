"""Start an Engrain server as a child process, and wait until it is ready."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stores.errors import Unavailable
from stores.folder import holder

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 15.0
LAST_WORDS_BYTES = 16_384
_COMMAND = "from tools.runtime.launch import end_with_parent; end_with_parent(); from cli.main import app; app()"


@dataclass(frozen=True, slots=True)
class ServerProcess:
    process: subprocess.Popen[bytes]
    address: str
    """`http://127.0.0.1:<port>`."""
    log: Path

    def stop(self) -> int:
        """Terminate, or kill after `STOP_TIMEOUT_S`; return the exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return self.kill()
        finally:
            if self.process.stdin is not None:
                self.process.stdin.close()

    def kill(self) -> int:
        self.process.kill()
        return self.process.wait()


@contextmanager
def server_process(
    data_dir: Path, *, environ: Mapping[str, str] | None = None, port: int = 0
) -> Iterator[ServerProcess]:
    """Serve a data folder on a loopback port, by default a free one, until the block ends."""
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "server.log"
    with log.open("wb") as output:
        # -P: the working directory must not shadow our modules.
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and command
            [sys.executable, "-P", "-c", _COMMAND, "serve", "--port", str(port), "--data-dir", str(data_dir)],
            env={**os.environ, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield ServerProcess(process, _wait_ready(process, data_dir, log), log)
    finally:
        ServerProcess(process, "", log).stop()


def _wait_ready(process: subprocess.Popen[bytes], data_dir: Path, log: Path) -> str:
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Unavailable(f"The server stopped with status {process.returncode}: {last_words(log)}")
        who = holder(data_dir)
        if who and who.pid == process.pid and who.address:
            return who.address
        time.sleep(0.02)
    raise Unavailable(f"The server was not ready after {READY_TIMEOUT_S:.0f} s: {last_words(log)}")


def last_words(log: Path, since: int = 0) -> str:
    """Return the last lines of a log that were written after its first `since` bytes."""
    with log.open("rb") as file:
        file.seek(max(since, log.stat().st_size - LAST_WORDS_BYTES))
        lines = file.read(LAST_WORDS_BYTES).decode(errors="replace").strip().splitlines()
    return f"{' '.join(lines[-5:]).rstrip('.') or 'it said nothing'}."


def end_with_parent() -> None:
    """Send this process SIGTERM when the parent closes standard input."""

    def watch() -> None:
        # os.read takes no lock of sys.stdin, which would abort the interpreter at exit.
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
