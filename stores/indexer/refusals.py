"""Records that an index refused, in a file beside the generation."""

import json
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from stores.indexer.folders import refusals_of, write

AGAIN_S = 3_600.0
"""Refused records are tried again then: the reason may have passed."""
MOST = 10_000
"""Refused records above which an index is useless."""


class Refusal(NamedTuple):
    kind: Literal["entity", "relation"]
    reason: str


class Refusals:
    """Refused records of one generation. Written by the lane; `book` is replaced whole.

    The file is written before the index's position moves on: a kill brings the records again.
    """

    def __init__(self, generation: Path) -> None:
        self._file = refusals_of(generation)
        self.book: Mapping[str, Refusal] = _read(self._file)
        self._again_at = 0.0

    @property
    def due(self) -> bool:
        return bool(self.book) and time.monotonic() >= self._again_at

    def put_off(self) -> None:
        self._again_at = time.monotonic() + AGAIN_S

    def note(self, refused: Mapping[str, Refusal], tried: Collection[str]) -> list[str]:
        """Record the outcome of a try; return the newly refused records.

        Raises:
            RuntimeError: Too many are refused.
        """
        kept = {each: why for each, why in self.book.items() if each not in tried} | dict(refused)
        if len(kept) > MOST:
            raise RuntimeError(f"The index refuses {len(kept)} records, the last one because of {kept.popitem()[1]}.")
        new = [each for each in refused if each not in self.book]
        if kept != self.book:
            if kept:
                write(self._file, json.dumps(kept))
            else:
                self._file.unlink(missing_ok=True)
            self.book = kept
        if new:
            self.put_off()
        return new

    def sentences(self) -> list[str]:
        return [f"{why.kind} {each} cannot be indexed: {why.reason}" for each, why in sorted(self.book.items())]


def summary(reasons: Collection[str], *, verb: str = "indexed") -> str:
    return f"{len(reasons)} record(s) cannot be {verb}: {next(iter(reasons))}" if reasons else ""


def _read(file: Path) -> dict[str, Refusal]:
    try:
        return {each: Refusal(*why) for each, why in json.loads(file.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
