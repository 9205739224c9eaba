"""Open the requested repository: around a folder, at a path, or cloned."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pygit2
from pygit2.enums import RepositoryOpenFlag

from cli.release_notes.facts import FactsRequest, Progress, ReleaseNotesFailed

_LIBRARY = re.compile(r"[0-9a-f]{40}|not found|refs/|object")
_REFUSALS = (
    ("repository not found", "is no Git repository itself; --repo takes its top folder"),
    ("not owned", "belongs to another user; `git config --global --add safe.directory` allows it"),
    ("object format", "keeps its objects as SHA-256, which is not supported"),
    ("partialclone", "is a partial clone; a complete clone is needed"),
    ("refstorage", "keeps its references as reftable, which is not supported"),
    ("unsupported", "has a format that is not supported"),
    ("permission denied", "may not be read by this user"),
)


@contextmanager
def opened(request: FactsRequest, progress: Progress) -> Iterator[pygit2.Repository]:
    """Open the requested repository; delete a clone afterwards.

    Raises:
        ReleaseNotesFailed: There is none, or it cannot be read or fetched.
    """
    local = None if request.url is None else _local_path(request.url)
    if request.url is not None and local is None:
        from cli.release_notes.git.clone import cloned  # noqa: PLC0415 - most runs fetch nothing

        with cloned(request, progress) as repository, _readable():
            yield repository
        return
    folder = local or request.repository or Path.cwd()
    progress("Opening the repository", str(folder))
    repository = _opened(folder, is_top=local is not None)
    try:
        with _readable():
            yield repository
    finally:
        repository.free()


def _opened(folder: Path, *, is_top: bool) -> pygit2.Repository:
    if not folder.exists():
        raise ReleaseNotesFailed(f"There is no {'repository at' if is_top else 'folder'} {folder}.")
    try:
        found = str(folder) if is_top else pygit2.discover_repository(str(folder.absolute()))
        if found is None:
            raise ReleaseNotesFailed(f"{folder.absolute()} is not inside a Git repository.")
        # The repository that a folder merely lies in is another one than was asked for.
        return pygit2.Repository(found, RepositoryOpenFlag.NO_SEARCH)
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        said = str(error).lower()
        reason = next(
            (reason for mark, reason in _REFUSALS if mark in said), f"cannot be opened: {str(error).rstrip('.')}"
        )
        raise ReleaseNotesFailed(
            f"{'' if reason.startswith('is no ') else 'The repository at '}{folder} {reason}."
        ) from error


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (pygit2.GitError, KeyError) as error:
        # A key error is the library's way to say that an object or a reference is not there.
        if isinstance(error, KeyError) and not _LIBRARY.search(str(error)):
            raise
        said = str(error).strip("'\". ")
        raise ReleaseNotesFailed(
            f"The repository cannot be read, something in it is missing or damaged ({said}); `git fsck` tells more."
        ) from error


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
