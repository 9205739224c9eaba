"""Files of the lexical index: a folder per generation. The highest one of the present format is valid."""

import os
import shutil
from pathlib import Path

from stores.folder import sync_folder
from stores.lexical.schema import FORMAT

_BUILDING = "building"


def current(folder: Path) -> Path:
    """Return the valid generation, creating it where needed; remove everything else."""
    folder.mkdir(parents=True, exist_ok=True)
    newest = _path(folder, max(_numbers(folder), default=1))
    for entry in folder.iterdir():
        if entry != newest:
            _remove(entry)
    newest.mkdir(exist_ok=True)
    return newest


def start(folder: Path) -> Path:
    building = folder / _BUILDING
    _remove(building)
    building.mkdir()
    return building


def adopt(folder: Path) -> Path:
    """Make the built generation the valid one, durably."""
    adopted = _path(folder, max(_numbers(folder), default=0) + 1)
    os.rename(folder / _BUILDING, adopted)
    sync_folder(folder)
    return adopted


def _numbers(folder: Path) -> list[int]:
    numbers = (entry.name.removeprefix(f"{FORMAT}-") for entry in folder.glob(f"{FORMAT}-*"))
    return [int(number) for number in numbers if number.isdecimal()]


def _path(folder: Path, number: int) -> Path:
    return folder / f"{FORMAT}-{number}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
