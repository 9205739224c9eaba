"""Where the indexes of one organization lie on disk: numbered generations, a pointer to the one that serves, a marker.

`open` is there while a process has the organization open; found at the start, it tells of an unclean stop.
`watermarks.json` says how far each index was when the organization was closed. `<index>/current` holds the number of
the generation that serves, `<index>/0003/` is one generation; a rebuild fills the next one while that one serves.
`<index>/0003.damaged` was set aside until the rebuild has replaced it, `<index>/0003.incomplete` says that not
everything that the ledger holds is in that generation yet, and `<index>/0003.refused` which records never got in.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from stores.indexer.status import IndexName
from stores.tokens import FILE as TOKENS

DAMAGED = ".damaged"
INCOMPLETE = ".incomplete"
REFUSED = ".refused"
_SCRATCH = "scratch-"


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far one index of a closed organization had come."""

    sequence: int
    applied: list[list[int]] = field(default_factory=list)
    """Ranges of sequence numbers above it that have been applied, first and last included."""
    complete: bool = True
    refused: int = 0
    """Records that the index is without because it refused them."""
    erasable: int = 0
    """How many of those that are gone, or were replaced, are still in its files."""

    def contains(self, sequence: int) -> bool:
        """Say whether the index holds that change."""
        return sequence <= self.sequence or any(first <= sequence <= last for first, last in self.applied)

    def pending(self, head: int) -> int:
        """Count the changes up to `head` that the index does not hold."""
        return max(0, head - self.sequence - sum(last - first + 1 for first, last in self.applied))


@dataclass(frozen=True, slots=True)
class Closing:
    """What is known about an organization without opening it."""

    epoch: str
    model: str
    """The embedding model of its vectors; empty when it has none."""
    watermarks: dict[str, Watermark]
    boot: str = ""
    """The run of the machine; in another one, files that were not forced to disk may be missing."""
    tokens: str = ""
    """By what the vectors of its tokens are made; empty when it has none."""
    words: str = ""
    """How its index of words is laid out."""


class OrganizationFolder:
    """The folder of one organization's indexes. Nobody else touches it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def _marker(self) -> Path:
        return self.path / "open"

    @property
    def _record(self) -> Path:
        return self.path / "watermarks.json"

    def mark_open(self) -> bool:
        """Leave a marker for the next start; True when the last stop was clean and the machine ran ever since."""
        closing = self.closing()
        clean = closing.boot == _boot() if closing is not None else not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        self._marker.touch()
        for left in self.path.glob(f"{_SCRATCH}*"):
            shutil.rmtree(left, ignore_errors=True)
        return clean

    def mark_closed(self, closing: Closing) -> None:
        """Record the watermarks and remove the marker."""
        write(self._record, json.dumps(asdict(replace(closing, boot=_boot()))))
        self._marker.unlink(missing_ok=True)

    def remove(self) -> bool:
        """Remove everything; False when something could not be removed."""
        shutil.rmtree(self.path, ignore_errors=True)
        return not self.path.exists()

    def closing(self) -> Closing | None:
        """The record of the last clean stop; None when there is none or the folder was left open."""
        if self._marker.exists():
            return None
        try:
            record = json.loads(self._record.read_text("utf-8"))
            marks = {name: Watermark(**mark) for name, mark in record["watermarks"].items()}
            tokens = record.get("tokens", "") if self._has_tokens() else ""
            return Closing(record["epoch"], record["model"], marks, record["boot"], tokens, record.get("words", ""))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def current(self, name: IndexName) -> Path | None:
        """The generation that serves."""
        try:
            generation = self.path / name / (self.path / name / "current").read_text("utf-8").strip()
        except (OSError, ValueError):
            return None
        return generation if generation.is_dir() and generation.parent == self.path / name else None

    def fresh(self, name: IndexName) -> Path:
        """An empty folder for the next generation, not yet the one that serves."""
        parent = self.path / name
        parent.mkdir(parents=True, exist_ok=True)
        taken = [int(entry.name[:4]) for entry in parent.iterdir() if entry.name[:4].isdigit()]
        folder = parent / f"{max(taken, default=0) + 1:04d}"
        folder.mkdir()
        return folder

    def point(self, name: IndexName, generation: Path) -> None:
        """Let a generation serve from now on."""
        write(self.path / name / "current", generation.name)

    def set_aside(self, name: IndexName, generation: Path) -> None:
        """Move a damaged generation out of the way; the rebuild that replaces it removes it."""
        (self.path / name / "current").unlink(missing_ok=True)
        if generation.exists():
            generation.rename(generation.with_name(generation.name + DAMAGED))

    def sweep(self, name: IndexName, keep: Collection[Path], *, damaged: bool = True) -> None:
        """Remove every generation but those, damaged ones too: they hold text that may have been deleted since."""
        for entry in self._entries(name):
            if entry.is_dir() and entry not in keep and (damaged or not entry.name.endswith(DAMAGED)):
                shutil.rmtree(entry, ignore_errors=True)
                marker(entry).unlink(missing_ok=True)
        for refusals in self._entries(name):
            if refusals.suffix == REFUSED and refusals not in map(refusals_of, keep):
                refusals.unlink(missing_ok=True)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Lend an empty folder that is removed at the end."""
        folder = tempfile.mkdtemp(prefix=_SCRATCH, dir=self.path)
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _has_tokens(self) -> bool:
        serving = self.current("vectors")
        return serving is not None and (serving / TOKENS).is_file()

    def _entries(self, name: IndexName) -> Iterable[Path]:
        parent = self.path / name
        return list(parent.iterdir()) if parent.is_dir() else ()


def marker(generation: Path) -> Path:
    """The file beside a generation that says: not everything that the ledger holds is in it yet."""
    return generation.with_name(generation.name + INCOMPLETE)


def refusals_of(generation: Path) -> Path:
    """The file beside a generation that names the records which it is without."""
    return generation.with_name(generation.name + REFUSED)


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
    except OSError:
        return "unknown"


def write(path: Path, text: str) -> None:
    """Replace a file: whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text, "utf-8")
    os.replace(temporary, path)
