"""`--update`: write the entry atomically; no other byte of the file changes."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from cli.release_notes.entries import BOMS, merged
from cli.release_notes.failure import ReleaseNotesFailed

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def update(path: Path, entry: str, version: str) -> str:
    """Write an entry into a file, new or not; return a sentence about it.

    Raises:
        ReleaseNotesFailed: The file cannot be read or written; it is unchanged.
    """
    try:
        before, old = _read(path)
        if old is None:
            _replace(path, entry.encode(), before, None)
            return "created"
        data, replaced = merged(old, entry, version)
        _replace(path, data, before, old)
    except OSError as error:
        raise ReleaseNotesFailed(f"{path} cannot be written: {error.strerror or error}.") from None
    if replaced is None:
        return "added"
    return "replaced, the first of them: the file has that version more than once" if replaced.others else "replaced"


def _read(path: Path) -> tuple[os.stat_result | None, bytes | None]:
    if path == Path():
        raise ReleaseNotesFailed("--file needs the name of a file.")
    try:
        found = path.lstat()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise ReleaseNotesFailed(f"{path} cannot be written: there is no folder {path.parent}.") from None
        return None, None
    if stat.S_ISLNK(found.st_mode):
        raise ReleaseNotesFailed(f"{path} is a symbolic link: name the file that it leads to with --file.")
    if stat.S_ISDIR(found.st_mode):
        raise ReleaseNotesFailed(f"{path} is a folder: name a file in it with --file.")
    if not stat.S_ISREG(found.st_mode):
        raise ReleaseNotesFailed(f"{path} is no ordinary file.")
    # Replacing needs no right to write into the file, so who took it away would not be heard; nor is root.
    if not found.st_mode & _WRITABLE or not os.access(path, os.W_OK):
        raise ReleaseNotesFailed(f"{path} is read-only.")
    data = path.read_bytes()
    if data.startswith(BOMS):
        raise ReleaseNotesFailed(f"{path} is UTF-16, and notes are written as UTF-8: convert it first.")
    return found, data


def _replace(path: Path, data: bytes, before: os.stat_result | None, old: bytes | None) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _take_over(Path(name), before)
        if old is None and os.path.lexists(path):
            raise ReleaseNotesFailed(f"{path} was made by somebody else meanwhile: nothing was written.")
        if old is not None and path.read_bytes() != old:
            raise ReleaseNotesFailed(f"{path} was changed by somebody else meanwhile: nothing was written.")
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _take_over(path: Path, before: os.stat_result | None) -> None:
    if before is None:
        path.chmod(_default_mode())
        return
    made = path.stat()
    if hasattr(os, "chown") and (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
        for uid, gid in ((before.st_uid, before.st_gid), (-1, before.st_gid)):
            with suppress(OSError):
                os.chown(path, uid, gid)
                break
    path.chmod(stat.S_IMODE(before.st_mode))


def _default_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
