"""Files of a folder that people wrote, and the atomic replacement of one."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

_UNREAD_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages"})


def files_of(root: Path, suffixes: Collection[str]) -> Iterator[Path]:
    """Return the files with these suffixes, without hidden ones, links and installed packages."""
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _UNREAD_FOLDERS]
        for path in (Path(place, name) for name in names if not name.startswith(".")):
            if path.suffix.lower() in suffixes and not path.is_symlink():
                yield path


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically, with its mode; a new one is its owner's alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    try:
        fresh.touch(0o600, exist_ok=False)
        fresh.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o600)
        with fresh.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
