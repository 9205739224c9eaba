"""Files of a folder that people wrote, and the atomic replacement of one."""

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

_UNREAD_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})


def files_of(root: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """Return the files with these suffixes, without hidden ones, links and installed packages."""
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _UNREAD_FOLDERS]
        for path in (Path(place, name) for name in names if not name.startswith(".")):
            if path.suffix.lower() in suffixes and not path.is_symlink():
                yield path


def replace_file(path: Path, data: bytes, mode: int = 0o600, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file atomically after a last check, with its mode and owner; a new one gets the mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            with suppress(OSError):
                shutil.chown(fresh, path.stat().st_uid, path.stat().st_gid)
            shutil.copymode(path, fresh)
        check()
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
