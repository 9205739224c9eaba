"""Open the requested repository: around a folder, at a path, or cloned."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pygit2
from pygit2.enums import RepositoryOpenFlag

from cli.release_notes.facts import FactsRequest, Progress
from cli.release_notes.failure import ReleaseNotesFailed
from cli.release_notes.git.address import without_credentials
from cli.release_notes.git.text import unquoted

_LIBRARY = re.compile(r"[0-9a-f]{40}|not found|refs/|object")
_REFUSALS = (
    ("repository not found", "is no Git repository itself; --repo takes its top folder"),
    ("not owned", "belongs to another user; `git config --global --add safe.directory` allows it"),
    ("object format", "keeps its objects as SHA-256, which is not supported"),
    ("partialclone", "is a partial clone; a complete clone is needed"),
    ("refstorage", "keeps its references as reftable, which is not supported"),
    ("unsupported extension", "uses an extension of Git that is not supported"),
    ("unsupported repository version", "has a format that is not supported"),
    ("permission denied", "may not be read by this user"),
)


@contextmanager
def opened(request: FactsRequest, progress: Progress) -> Iterator[pygit2.Repository]:
    """Open the requested repository; delete a clone afterwards.

    Raises:
        ReleaseNotesFailed: There is none, or it cannot be read or fetched.
    """
    if request.url is None:
        progress("Opening the repository", str(request.repository or Path.cwd()))
        with _closing(open_around(request.repository or Path.cwd())) as repository:
            yield repository
        return
    local = _local_path(request.url)
    if local is not None:
        progress("Opening the repository", str(local))
        with _closing(open_at(local)) as repository:
            yield repository
        return
    from cli.release_notes.git.clone import cloned  # noqa: PLC0415 - most runs fetch nothing

    progress("Fetching the repository", without_credentials(request.url))
    with cloned(request, progress) as repository, readable():
        yield repository


def open_around(folder: Path) -> pygit2.Repository:
    """Open the repository around a folder, bare or linked worktrees included."""
    if not folder.exists():
        raise ReleaseNotesFailed(f"There is no folder {folder}.")
    try:
        found = pygit2.discover_repository(str(folder.absolute()))
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise _refused(folder, error) from error
    if found is None:
        raise ReleaseNotesFailed(f"{folder.absolute()} is not inside a Git repository.")
    return _opened(found, folder)


def open_at(path: Path) -> pygit2.Repository:
    if not path.exists():
        raise ReleaseNotesFailed(f"There is no repository at {path}.")
    return _opened(str(path), path)


def _opened(found: str, shown: Path) -> pygit2.Repository:
    try:
        # The repository that a folder merely lies in is another one than was asked for.
        return pygit2.Repository(found, RepositoryOpenFlag.NO_SEARCH)
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise _refused(shown, error) from error


def _refused(shown: Path, error: Exception) -> ReleaseNotesFailed:
    said = str(error).lower()
    for mark, reason in _REFUSALS:
        if mark in said:
            what = "" if reason.startswith("is no ") else "The repository at "
            return ReleaseNotesFailed(f"{what}{shown} {reason}.")
    return ReleaseNotesFailed(f"{shown} cannot be opened as a Git repository: {str(error).rstrip('.')}.")


@contextmanager
def _closing(repository: pygit2.Repository) -> Iterator[pygit2.Repository]:
    try:
        with readable():
            yield repository
    finally:
        repository.free()


@contextmanager
def readable() -> Iterator[None]:
    """Translate errors of missing or damaged objects into a sentence."""
    try:
        yield
    except pygit2.GitError as error:
        raise unreadable(error) from error
    except KeyError as error:
        # The library's way to say that an object or a reference is not there.
        if not _LIBRARY.search(str(error)):
            raise
        raise unreadable(error) from error


def unreadable(error: Exception) -> ReleaseNotesFailed:
    said = unquoted(str(error))
    return ReleaseNotesFailed(
        f"The repository cannot be read, something in it is missing or damaged ({said}); `git fsck` tells more."
    )


def _local_path(url: str) -> Path | None:
    if not url.strip():
        raise ReleaseNotesFailed("--repo needs the address of a repository.")
    if url[:6].lower() == "file:/":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost"):
            raise ReleaseNotesFailed(f"--repo {url} names a host: of files there are only those of this machine.")
        return Path(unquote(parts.path))
    scheme = "://" in url or (":" in url.partition("/")[0] and not Path(url).exists())
    return None if scheme else Path(url).expanduser()
