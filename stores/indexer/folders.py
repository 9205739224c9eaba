"""Index files of one organization: numbered generations and a pointer to one.

`watermarks.json` holds the progress at the last clean stop, while no process has them open. `<index>/current` names
the serving generation, such as `<index>/0003/`. `0003.incomplete` marks missing records, `0003.refused` lists refused
ones.
"""

import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from stores.indexer.options import IndexName
from stores.tokens import FILE as TOKENS

INCOMPLETE = ".incomplete"
REFUSED = ".refused"
NEW = ".new"


@dataclass(frozen=True, slots=True)
class Watermark:
    """Progress of one index of a closed organization."""

    sequence: int
    complete: bool = True
    refused: int = 0
    erasable: int = 0
    """Deleted or replaced records still in its files."""

    def contains(self, sequence: int, record_ids: Collection[str] = ()) -> bool:
        return sequence <= self.sequence

    def pending(self, head: int) -> int:
        return max(0, head - self.sequence)


@dataclass(frozen=True, slots=True)
class Closing:
    epoch: str
    model: str
    watermarks: dict[str, Watermark]
    boot: str = ""
    """After another boot, files that were not synced may be missing."""
    tokens: str = ""
    words: str = ""


_CLOSING = TypeAdapter(Closing)


class OrganizationFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._record = path / "watermarks.json"

    def mark_open(self) -> bool:
        """Remove the record of the last stop; return whether that was clean, in the same boot."""
        closing = self.closing()
        clean = closing.boot == _boot() if closing is not None else not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        self._record.unlink(missing_ok=True)
        return clean

    def mark_closed(self, closing: Closing) -> None:
        write(self._record, _CLOSING.dump_json(replace(closing, boot=_boot())).decode())

    def remove(self) -> bool:
        shutil.rmtree(self.path, ignore_errors=True)
        return not self.path.exists()

    def closing(self) -> Closing | None:
        try:
            closing = _CLOSING.validate_json(self._record.read_bytes())
        except (OSError, ValueError):
            return None
        serving = self.current("vectors")
        return closing if serving is not None and (serving / TOKENS).is_file() else replace(closing, tokens="")

    def current(self, name: IndexName) -> Path | None:
        try:
            generation = self.path / name / (self.path / name / "current").read_text("utf-8").strip()
        except (OSError, ValueError):
            return None
        return generation if generation.is_dir() and generation.parent == self.path / name else None

    def fresh(self, name: IndexName) -> Path:
        parent = self.path / name
        parent.mkdir(parents=True, exist_ok=True)
        taken = [int(entry.name[:4]) for entry in parent.iterdir() if entry.name[:4].isdigit()]
        folder = parent / f"{max(taken, default=0) + 1:04d}"
        folder.mkdir()
        return folder

    def start(self, name: IndexName, *, incomplete: bool) -> Path:
        """Make a fresh generation the serving one."""
        folder = self.fresh(name)
        if incomplete:
            marker(folder).touch()
        self.point(name, folder)
        return folder

    def point(self, name: IndexName, generation: Path) -> None:
        write(self.path / name / "current", generation.name)

    def abandon(self, name: IndexName) -> None:
        """Serve no generation; `sweep` removes the files."""
        (self.path / name / "current").unlink(missing_ok=True)

    def sweep(self, name: IndexName, keep: Collection[Path]) -> None:
        """Remove all other generations; they may hold deleted text."""
        kept = {"current", *(each.name + suffix for each in keep for suffix in ("", INCOMPLETE, REFUSED))}
        entries = [each for each in (self.path / name).glob("*") if each.name not in kept and each.suffix != NEW]
        # Folders first: a marker goes after what it marks.
        for entry in sorted(entries, key=Path.is_file):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def marker(generation: Path) -> Path:
    return generation.with_name(generation.name + INCOMPLETE)


def refusals_of(generation: Path) -> Path:
    return generation.with_name(generation.name + REFUSED)


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    except OSError:
        return "unknown"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + NEW)
    temporary.write_text(text, "utf-8")
    os.replace(temporary, path)
