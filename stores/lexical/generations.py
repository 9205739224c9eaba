"""Files of the lexical index: a folder per generation, replaced atomically."""

import os
import re
import shutil
from pathlib import Path

from stores.folder import sync_folder

_BUILDING = "building"


class Generations:
    """The highest generation of the present format is valid."""

    def __init__(self, folder: Path, format_name: str) -> None:
        self._folder = folder
        self._name = re.compile(rf"{format_name}-(\d+)")
        self._format = format_name

    def current(self) -> Path:
        """Return the valid generation, creating it where needed; remove everything else."""
        self._folder.mkdir(parents=True, exist_ok=True)
        numbers = self._numbers()
        newest = self._path(max(numbers, default=1))
        for entry in self._folder.iterdir():
            if entry != newest:
                _remove(entry)
        newest.mkdir(exist_ok=True)
        return newest

    def start(self) -> Path:
        building = self._folder / _BUILDING
        _remove(building)
        building.mkdir()
        return building

    def adopt(self) -> Path:
        """Make the built generation the valid one, durably."""
        adopted = self._path(max(self._numbers(), default=0) + 1)
        os.rename(self._folder / _BUILDING, adopted)
        sync_folder(self._folder)
        return adopted

    def _numbers(self) -> list[int]:
        matches = (self._name.fullmatch(entry.name) for entry in self._folder.iterdir())
        return [int(match.group(1)) for match in matches if match]

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._format}-{number}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
