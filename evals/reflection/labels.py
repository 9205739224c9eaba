"""Labelled notes and pairs of sentences."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from evals.datasets.collection import json_lines
from tools.reflecting.reflection import KINDS, Kind

Split = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""The grammar is tuned on `dev` only."""
FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Label:
    """The span `notes[start:end]`."""

    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    split: Split
    form: str
    notes: str
    expected: tuple[Label, ...]
    forbidden: tuple[tuple[int, int], ...]
    """Cues that are no finding: questions, quotations, refuted statements."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences; expected if the second duplicates or contradicts the first."""

    asks: Literal["duplicate", "contradiction"]
    split: Split
    new: str
    old: str
    expected: bool
    kind: Literal["decision", "task"] = "decision"


def read_notes(split: Split, folder: Path = FOLDER) -> list[Note]:
    """Return the notes of a split.

    Raises:
        ValueError: A label's text is not unique in its notes, or its kind is unknown.
    """
    return [_note(row) for row in json_lines(folder / f"notes-{split}.jsonl")]


def read_pairs(folder: Path = FOLDER) -> dict[str, Pair]:
    pairs = dict.fromkeys(Pair(**row) for row in json_lines(folder / "pairs.jsonl"))
    return {f"{pair.asks}-{number}": pair for number, pair in enumerate(pairs)}


def _note(row: dict[str, Any]) -> Note:
    notes = row["notes"]
    if wrong := [entry["kind"] for entry in row["expected"] if entry["kind"] not in KINDS]:
        raise ValueError(f"{row['id']}: there is no kind {wrong[0]}.")
    labels = [Label(entry["kind"], *_span(notes, entry["text"], row["id"])) for entry in row["expected"]]
    forbidden = [_span(notes, text, row["id"]) for text in row["forbidden"]]
    return Note(row["id"], row["split"], row["form"], notes, tuple(labels), tuple(forbidden))


def _span(notes: str, text: str, note: str) -> tuple[int, int]:
    if not text or notes.count(text) != 1:
        raise ValueError(f"{note}: {text!r} stands {notes.count(text)} times in the notes, not once.")
    start = notes.index(text)
    return start, start + len(text)
