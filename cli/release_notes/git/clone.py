"""Bare clone of a remote repository into a temporary folder."""

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from urllib.parse import unquote, urlsplit

import pygit2
from pygit2.enums import CredentialType

from cli.release_notes.facts import FactsRequest, Progress
from cli.release_notes.failure import ReleaseNotesFailed
from cli.release_notes.git.address import without_credentials
from cli.release_notes.git.text import unquoted

_SCHEMES = frozenset({"http", "https", "ssh", "git", "git+ssh", "ssh+git"})
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
CONNECT_MS, ANSWER_MS = 15_000, 60_000
_PROBLEMS = (
    ("resolve address", "its host cannot be found"),
    ("could not resolve", "its host cannot be found"),
    ("failed to connect", "its host cannot be reached"),
    ("connection refused", "its host cannot be reached"),
    ("timed out", "its host does not answer"),
    ("status code: 404", "there is no repository at this address, or it is private"),
    ("authentication", "it asks for credentials: put them into the address, or use SSH with a running agent"),
    ("credentials", "it asks for credentials: put them into the address, or use SSH with a running agent"),
    ("status code: 401", "it asks for credentials: put them into the address, or use SSH with a running agent"),
    ("status code: 403", "access is refused"),
    ("host key", "its host key is not known: connect to it once with `ssh`"),
    ("hostkey", "its host key is not known: connect to it once with `ssh`"),
    ("object format", "it keeps its objects as SHA-256, which is not supported"),
    ("certificate", "its certificate is not trusted"),
    ("url->host", "its address names no host"),
    ("malformed hostname", "its address names no host"),
    ("unsupported url protocol", "this kind of address is not supported"),
    ("invalid content-type", "it answers, but not as a Git server does"),
    ("unexpected content-type", "it answers, but not as a Git server does"),
)


_Credential = pygit2.Username | pygit2.UserPass | pygit2.Keypair


class _Stopped(Exception):
    pass


@dataclass(slots=True)
class _Work:
    stop: threading.Event = field(default_factory=threading.Event)
    fault: BaseException | None = None


class _Callbacks(pygit2.RemoteCallbacks):
    def __init__(self, url: str, progress: Progress, stop: threading.Event) -> None:
        super().__init__()
        self._url, self._progress, self._stop = url, progress, stop
        self._tried: set[str] = set()
        self._shown = -1

    def credentials(self, url: str, username_from_url: str | None, allowed_types: CredentialType) -> _Credential:
        parts = urlsplit(self._url) if "://" in self._url else None
        name = username_from_url or (unquote(parts.username) if parts and parts.username else None) or "git"
        if allowed_types & CredentialType.USERNAME and self._once("name"):
            return pygit2.Username(name)
        if allowed_types & CredentialType.SSH_KEY and self._once("agent"):
            return pygit2.KeypairFromAgent(name)
        if allowed_types & CredentialType.USERPASS_PLAINTEXT and parts and parts.username and self._once("password"):
            return pygit2.UserPass(unquote(parts.username), unquote(parts.password or ""))
        raise ReleaseNotesFailed(f"{without_credentials(self._url)} cannot be fetched: {_reason('authentication')}.")

    def _once(self, what: str) -> bool:
        fresh = what not in self._tried
        self._tried.add(what)
        return fresh

    def transfer_progress(self, stats: object) -> None:
        if self._stop.is_set():
            raise _Stopped
        received, total = getattr(stats, "received_objects", 0), getattr(stats, "total_objects", 0)
        percent = 100 * received // total if total else 0
        if percent != self._shown:
            self._shown = percent
            self._progress("Fetching the repository", f"{received:,} of {total:,} objects")

    def sideband_progress(self, string: str) -> None:
        if self._stop.is_set():
            raise _Stopped


@contextmanager
def cloned(request: FactsRequest, progress: Progress) -> Iterator[pygit2.Repository]:
    """Fetch branches and tags; delete the folder afterwards.

    Raises:
        ReleaseNotesFailed: The fetch failed; says why.
    """
    url = request.url or ""
    if "://" in url and url.partition("://")[0].lower() not in _SCHEMES:
        raise _failed(url, ValueError("unsupported url protocol"))
    with _ended_by_signal():
        folder = Path(tempfile.mkdtemp(prefix="engrain-release-notes-"))
        try:
            _in_thread(lambda stop: _fetch(folder, url, partial(_Callbacks, url, progress, stop)), url)
            repository = pygit2.Repository(str(folder))
            try:
                yield repository
            finally:
                repository.free()
        finally:
            shutil.rmtree(folder, onerror=_make_writable)


def _make_writable(remove: Callable[[str], object], path: str, _: object) -> None:
    # Packs are read-only, which on some systems keeps them from being deleted.
    try:
        os.chmod(path, 0o700)
        remove(path)
    except OSError:
        return


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


def _in_thread(fetch: Callable[[threading.Event], None], url: str) -> None:
    work = _Work()

    def run() -> None:
        try:
            fetch(work.stop)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            work.fault = error

    thread = threading.Thread(target=run, name="fetch", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    finally:
        work.stop.set()
        thread.join(2)
    if isinstance(work.fault, pygit2.GitError | KeyError | ValueError | OSError):
        raise _failed(url, work.fault) from work.fault
    if work.fault is not None:
        raise work.fault


def _failed(url: str, error: BaseException) -> ReleaseNotesFailed:
    shown = without_credentials(url)
    said = str(error).replace(url, shown)
    return ReleaseNotesFailed(f"{shown} cannot be fetched: {_reason(said)}.")


def _reason(said: str) -> str:
    lowered = said.lower()
    found = next((reason for mark, reason in _PROBLEMS if mark in lowered), None)
    return found or unquoted(said)


def _fetch(folder: Path, url: str, answers: Callable[[], _Callbacks]) -> None:
    pygit2.settings.server_connect_timeout = CONNECT_MS
    pygit2.settings.server_timeout = ANSWER_MS
    repository = pygit2.init_repository(str(folder), bare=True)
    remote = repository.remotes.create("origin", url)
    head = next((each for each in remote.list_heads(callbacks=answers(), proxy=True) if each.name == "HEAD"), None)
    remote.fetch(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], callbacks=answers(), proxy=True)
    if head is not None:
        repository.set_head(head.symref_target or head.oid)
