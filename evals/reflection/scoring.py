"""Compares findings with labels: the same kind, and spans that overlap by half (intersection over union)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evals.reflection.labels import Label, Note, Pair
from tools.reflection import KINDS, Finding

OVERLAP = 0.5
BANDS = (0.0, 0.65, 0.7, 0.75, 0.8, 0.85)
"""Lower ends of the bands of confidence, the last one up to 1."""


@dataclass(frozen=True, slots=True)
class Score:
    """What was found rightly, found wrongly and missed."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        """The share of what was found that is right; 0 where nothing was found."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 0.0

    @property
    def recall(self) -> float:
        """The share of what should be found that was; 0 where there is nothing to find."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = 2 * self.right + self.wrong + self.missed
        return 2 * self.right / both if both else 0.0


@dataclass(frozen=True, slots=True)
class Band:
    """Findings of like confidence: how many, how sure they say they are on average, and how many are right."""

    low: float
    n: int
    confidence: float
    precision: float


@dataclass(frozen=True, slots=True)
class NotesResult:
    """How `extract` did on some notes."""

    notes: int
    overall: Score
    any_kind: Score
    """The kind left aside."""
    by_kind: dict[str, Score]
    bands: tuple[Band, ...]
    forbidden: int
    """Spans that must not be found."""
    forbidden_found: int


@dataclass(slots=True)
class _Tally:
    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    any_right: int = 0
    forbidden_found: int = 0
    judged: list[tuple[float, bool]] = field(default_factory=list)


def score_notes(notes: Sequence[Note], extract: Callable[[str], Sequence[Finding]]) -> NotesResult:
    """Extract from each note and count. A label is met by one finding at most, and a finding meets one label."""
    tally = _Tally()
    for note in notes:
        _count(tally, note, extract(note.notes))
    found, wanted = len(tally.judged), sum(len(note.expected) for note in notes)
    return NotesResult(
        notes=len(notes),
        overall=Score(tally.right.total(), tally.wrong.total(), tally.missed.total()),
        any_kind=Score(tally.any_right, found - tally.any_right, wanted - tally.any_right),
        by_kind={kind: Score(tally.right[kind], tally.wrong[kind], tally.missed[kind]) for kind in KINDS},
        bands=_bands(tally.judged),
        forbidden=sum(len(note.forbidden) for note in notes),
        forbidden_found=tally.forbidden_found,
    )


def labels_met(note: Note, findings: Sequence[Finding], *, any_kind: bool = False) -> list[Label | None]:
    """For each finding the label that it meets, which no finding before it has met; of its own kind unless told."""
    left, met = list(note.expected), []
    for finding in findings:
        span = finding.start, finding.end
        near = (label for label in left if overlap(span, (label.start, label.end)) >= OVERLAP)
        one = next((label for label in near if any_kind or label.kind == finding.kind), None)
        if one is not None:
            left.remove(one)
        met.append(one)
    return met


def _count(tally: _Tally, note: Note, findings: Sequence[Finding]) -> None:
    spans = [(finding.start, finding.end) for finding in findings]
    met = labels_met(note, findings)
    for finding, label in zip(findings, met, strict=True):
        (tally.wrong if label is None else tally.right)[finding.kind] += 1
        tally.judged.append((finding.confidence, label is not None))
    tally.missed.update(label.kind for label in note.expected if label not in met)
    tally.any_right += sum(label is not None for label in labels_met(note, findings, any_kind=True))
    tally.forbidden_found += sum(any(overlap(span, no) >= OVERLAP for span in spans) for no in note.forbidden)


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Return intersection over union of two spans; 0 where they do not touch."""
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / ((one[1] - one[0]) + (other[1] - other[0]) - shared) if shared else 0.0


def _bands(judged: Sequence[tuple[float, bool]]) -> tuple[Band, ...]:
    bands = []
    for low, high in zip(BANDS, (*BANDS[1:], 1.01), strict=True):
        inside = [(confidence, right) for confidence, right in judged if low <= confidence < high]
        if inside:
            mean = sum(confidence for confidence, _ in inside) / len(inside)
            bands.append(Band(low, len(inside), round(mean, 3), sum(right for _, right in inside) / len(inside)))
    return tuple(bands)


def score_pairs(pairs: Sequence[Pair], judge: Callable[[Pair], bool]) -> dict[str, Score]:
    """Ask each pair its question; the answers by question."""
    scores: dict[str, Score] = {}
    for asks in ("duplicate", "contradiction"):
        answers = [(judge(pair), pair.expected) for pair in pairs if pair.asks == asks]
        counted = Counter(answers)
        scores[asks] = Score(counted[True, True], counted[True, False], counted[False, True])
    return scores
