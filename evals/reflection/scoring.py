"""Match findings with labels: equal kind, overlap of at least half (intersection over union)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals.markdown import table
from evals.reflection.labels import SPLITS, Label, Note, Pair
from evals.results import Case
from tools.reflecting.reflection import KINDS

OVERLAP = 0.5
NOTES, PAIRS, ARM = "reflection-notes", "reflection-pairs", "rules"
_SHOWN, _BEGINNING = 3, 160
Found = tuple[str, int, int]
"""Kind, start and end."""


@dataclass(frozen=True, slots=True)
class Score:
    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 0.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 0.0

    @property
    def f1(self) -> float:
        both = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / both if both else 0.0


def note_case(note: Note, found: Sequence[Found]) -> Case:
    """Compare findings, the surest first, with labels."""
    met = _labels_met(note, found)
    missed = [label for label in note.expected if label not in met]
    pairs = zip(found, met, strict=True)
    ids = [_id(label.kind, label.start, label.end) if label else _id(*each) for each, label in pairs]
    right = sum(label is not None for label in met)
    score = Score(right, len(found) - right, len(missed))
    values = {"F1": score.f1, "precision": score.precision, "recall": score.recall}
    if not note.expected:
        values = dict.fromkeys(values, float(not found))
    crossed = any(overlap(each[1:], no) >= OVERLAP for each in found for no in note.forbidden)
    return Case(
        NOTES, ARM, "finding", note.id, {**values, "nothing forbidden": float(not crossed)}, category=note.split,
        question=note.notes[:_BEGINNING], found=tuple(ids),
        wanted={_id(label.kind, label.start, label.end): 1 for label in note.expected},
        best=[_text(note, each[1:]) for each in found[:_SHOWN]],
        missed=[f"{label.kind}: {_text(note, (label.start, label.end))}" for label in missed[:_SHOWN]],
    )  # fmt: skip


def pair_case(key: str, pair: Pair, *, answer: bool) -> Case:
    return Case(
        PAIRS, ARM, "pair", key, {"right": float(answer == pair.expected)}, category=f"{pair.split} {pair.asks}",
        question=f"{pair.old} / {pair.new}", wanted={pair.asks: 1} if pair.expected else {},
        found=(pair.asks,) if answer else (),
    )  # fmt: skip


def tally(cases: Iterable[Case], kind: str = "") -> Score:
    """Add up cases, of one kind or all."""
    right = wrong = missed = 0
    for case in cases:
        found = [each for each in case.found if not kind or each.split()[0] == kind]
        wanted = {each for each in case.wanted if not kind or each.split()[0] == kind}
        met = len(wanted.intersection(found))
        right, wrong, missed = right + met, wrong + len(found) - met, missed + len(wanted) - met
    return Score(right, wrong, missed)


def details(cases: Sequence[Case]) -> str:
    columns = ["kind", *(f"{split} {word}" for split in SPLITS for word in ("precision", "recall", "F1", "labels"))]
    groups: Mapping[str, dict[str, Any]] = {
        split: {
            NOTES: [case for case in cases if case.set == NOTES and case.category == split],
            PAIRS: [case for case in cases if case.set == PAIRS and case.category.startswith(split)],
        }
        for split in SPLITS
    }
    wanted = [(kind, NOTES) for kind in (*KINDS, "")] + [("duplicate", PAIRS), ("contradiction", PAIRS)]
    rows = [
        [kind or "all notes", *(cell for split in SPLITS for cell in _cells(tally(groups[split][name], kind)))]
        for kind, name in wanted
    ]
    return f"## By kind, over all findings together\n\n{table(columns, rows)}"


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Intersection over union."""
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / ((one[1] - one[0]) + (other[1] - other[0]) - shared) if shared else 0.0


def _labels_met(note: Note, found: Sequence[Found]) -> list[Label | None]:
    left, met = list(note.expected), []
    for kind, *span in found:
        near = (label for label in left if overlap((span[0], span[1]), (label.start, label.end)) >= OVERLAP)
        one = next((label for label in near if label.kind == kind), None)
        if one is not None:
            left.remove(one)
        met.append(one)
    return met


def _id(kind: str, start: int, end: int) -> str:
    return f"{kind} {start}-{end}"


def _text(note: Note, span: tuple[int, int]) -> str:
    return " ".join(note.notes[slice(*span)].split())[:_BEGINNING]


def _cells(score: Score) -> list[str]:
    shares = (f"{share:.2f}" for share in (score.precision, score.recall, score.f1))
    return [*shares, str(score.right + score.missed)]
