"""Reads the labelled notes: what a person would keep of each, and what must not be found. Refuses a damaged set."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tools.reflection import KINDS, Kind

Split = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""The grammar is tuned on `dev`; `test` was labelled before that and is only measured."""
FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Label:
    """A span that a person would keep, `notes[start:end]`."""

    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Note:
    """One session's notes with their labels; whatever has no label should not be found."""

    id: str
    split: Split
    form: str
    notes: str
    expected: tuple[Label, ...]
    forbidden: tuple[tuple[int, int], ...]
    """Spans with a cue that are no finding all the same: questions, quotations, what was refuted."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences, and whether the second already says the first (`duplicate`) or cannot hold with it."""

    asks: Literal["duplicate", "contradiction"]
    split: Split
    new: str
    old: str
    expected: bool
    kind: Literal["decision", "task"] = "decision"
    """What both are."""


def read_notes(split: Split, folder: Path = FOLDER) -> list[Note]:
    """Return the notes of a split in the order of the file.

    Raises:
        ValueError: A label's text does not stand exactly once in its notes, or a kind is unknown.
    """
    return [_note(row) for row in _rows(folder / f"notes-{split}.jsonl")]


def read_pairs(folder: Path = FOLDER) -> list[Pair]:
    """Return the pairs for duplicates and contradictions."""
    return [Pair(**row) for row in _rows(folder / "pairs.jsonl")]


def _rows(path: Path) -> list[dict[str, Any]]:
    # `splitlines` would also cut at U+2028, which may stand inside of a note.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _note(row: dict[str, Any]) -> Note:
    notes = row["notes"]
    labels = [(_kind(entry["kind"], row["id"]), *_span(notes, entry["text"], row["id"])) for entry in row["expected"]]
    forbidden = [_span(notes, text, row["id"]) for text in row["forbidden"]]
    return Note(row["id"], row["split"], row["form"], notes, tuple(Label(*label) for label in labels), tuple(forbidden))


def _kind(kind: str, note: str) -> Kind:
    if kind not in KINDS:
        raise ValueError(f"{note}: there is no kind {kind}.")
    return kind


def _span(notes: str, text: str, note: str) -> tuple[int, int]:
    if not text or notes.count(text) != 1:
        raise ValueError(f"{note}: {text!r} stands {notes.count(text)} times in the notes, not once.")
    start = notes.index(text)
    return start, start + len(text)
