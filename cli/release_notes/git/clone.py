"""Bare clone of a remote repository into a temporary folder, by Git's own program."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pygit2

from cli.release_notes.facts import FactsRequest, Progress, ReleaseNotesFailed
from cli.release_notes.git.address import without_credentials

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
SILENCE_S = 60
_SSH = f"ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval={SILENCE_S // 2}"
_PROBLEMS = (
    ("could not resolve", "its host cannot be found"),
    ("name or service", "its host cannot be found"),
    ("failed to connect", "its host cannot be reached"),
    ("connection refused", "its host cannot be reached"),
    ("couldn't connect", "its host cannot be reached"),
    ("timed out", "its host does not answer"),
    ("too slow", "its host does not answer"),
    ("could not read username", "it asks for credentials: put them into the address, or use SSH with a running agent"),
    ("authentication failed", "it asks for credentials: put them into the address, or use SSH with a running agent"),
    ("permission denied", "it asks for credentials: put them into the address, or use SSH with a running agent"),
    ("not found", "there is no repository at this address, or it is private"),
    ("host key", "its host key is not known: connect to it once with `ssh`"),
    ("certificate", "its certificate is not trusted"),
    ("not allowed", "this kind of address is not supported"),
    ("not supported", "this kind of address is not supported"),
    ("unable to find remote helper", "this kind of address is not supported"),
)


@contextmanager
def cloned(request: FactsRequest, progress: Progress) -> Iterator[pygit2.Repository]:
    """Fetch branches and tags; delete the folder afterwards.

    Raises:
        ReleaseNotesFailed: The fetch failed; says why.
    """
    url = request.url or ""
    with _ended_by_signal():
        folder = Path(tempfile.mkdtemp(prefix="engrain-release-notes-"))
        try:
            _fetch(url, folder / "repository.git", progress)
            repository = pygit2.Repository(str(folder / "repository.git"))
            try:
                yield repository
            finally:
                repository.free()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _fetch(url: str, folder: Path, progress: Progress) -> None:
    program = shutil.which("git")
    shown = without_credentials(url)
    if program is None:
        raise ReleaseNotesFailed(f"{shown} cannot be fetched: the program `git` is not installed.")
    # Nothing is asked for on the terminal, and of the user's settings none may run a program in the clone.
    limits = {"GIT_HTTP_LOW_SPEED_LIMIT": "1", "GIT_HTTP_LOW_SPEED_TIME": str(SILENCE_S), "GIT_TERMINAL_PROMPT": "0"}
    environ = {**os.environ, **limits, "GIT_ASKPASS": "true", "LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "http:https:ssh:git"}
    environ.setdefault("GIT_SSH_COMMAND", _SSH)
    progress("Fetching the repository", shown)
    command = [program, "-c", "credential.interactive=false", "clone", "--bare", "--quiet", "--", url, str(folder)]
    done = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - Git's own program, no shell
    if done.returncode:
        raise ReleaseNotesFailed(f"{shown} cannot be fetched: {_reason(done.stderr.decode(errors='replace'), url)}.")


def _reason(said: str, url: str) -> str:
    found = next((reason for mark, reason in _PROBLEMS if mark in said.lower()), None)
    lines = [
        line
        for line in said.replace(url, without_credentials(url)).splitlines()
        if line.startswith(("fatal:", "error:"))
    ]
    return found or (
        lines[-1].partition(": ")[2].rstrip(".") if lines and "@" not in lines[-1] else "Git gave no reason"
    )


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in before.items():
        # Who started it with `nohup` wants it to go on.
        if handler is not signal.SIG_IGN:
            signal.signal(number, leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
