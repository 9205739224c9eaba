"""Files of a folder that people wrote."""

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
