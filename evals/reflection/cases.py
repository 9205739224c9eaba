"""Makes cases of what became of notes and of pairs of sentences, with what a report shows of them. Pure."""

from collections.abc import Sequence

from evals.reflection.labels import Label, Note, Pair
from evals.reflection.scoring import labels_met, score_notes
from evals.results import Case
from tools.reflection import Finding

NOTES, PAIRS, ARM = "reflection-notes", "reflection-pairs", "rules"
_SHOWN, _BEGINNING = 3, 160


def note_case(note: Note, found: Sequence[Finding]) -> Case:
    """Hold findings against the labels of a note. A finding that meets a label goes by the label's span."""
    met = labels_met(note, found)
    surest = sorted(zip(found, met, strict=True), key=lambda each: -each[0].confidence)
    missed = [label for label in note.expected if label not in met]
    return Case(
        NOTES, ARM, "finding", note.id, _values(note, found), category=note.split, question=note.notes[:_BEGINNING],
        wanted={_id(label): 1 for label in note.expected},
        found=tuple(_id(label or finding) for finding, label in surest),
        best=[_said(note, finding) for finding, _ in surest[:_SHOWN]],
        missed=[_said(note, label) for label in missed[:_SHOWN]],
    )  # fmt: skip


def pair_case(key: str, pair: Pair, *, answer: bool) -> Case:
    """Hold what was said of a pair against its label."""
    return Case(
        PAIRS, ARM, "pair", key, {"right": float(answer == pair.expected)},
        category=f"{pair.split} {pair.asks}", question=f"{pair.old} / {pair.new}"[: 2 * _BEGINNING],
        wanted={pair.asks: 1} if pair.expected else {}, found=(pair.asks,) if answer else (),
        best=[f"a {pair.asks}"] if answer else [], missed=[f"a {pair.asks}"] if pair.expected and not answer else [],
    )  # fmt: skip


def _values(note: Note, found: Sequence[Finding]) -> dict[str, float]:
    """Of a note that holds nothing to keep, nothing is what is to be found."""
    if not note.expected:
        return dict.fromkeys(("F1", "precision", "recall"), float(not found))
    score = score_notes([note], lambda _: found).overall
    return {"F1": score.f1, "precision": score.precision, "recall": score.recall}


def _id(span: Label | Finding) -> str:
    return f"{span.kind} {span.start}-{span.end}"


def _said(note: Note, span: Label | Finding) -> str:
    return f"{span.kind}: {' '.join(note.notes[span.start : span.end].split())}"[:_BEGINNING]
