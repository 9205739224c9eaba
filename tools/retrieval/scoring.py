"""Pure scoring: lane scores in, one comparable score per record out. No I/O, no clock.

Lanes are fused by a weighted sum of scores that are normalised by what the query could reach, not by its own best hit
(theoretical min-max normalisation: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM
TOIS 2023). So scores of different queries compare: an exact answer is near 1, an off-topic best hit stays low. The
weights were chosen on four labelled collections (`engrain eval`); the figures are in `docs/decisions/0002-scores.md`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

BM25_WEIGHT = 0.6
"""Of BM25 as a share of its ceiling; the cosine has weight 1."""
COVERAGE_WEIGHT = 0.2
WORDS_ALONE = 2.0
"""What the words' evidence counts for when there are no vectors."""
BACKGROUND = 0.2
"""A record outside of the dense lane is taken to be as near as the lane's last hit, and no nearer than unrelated texts
under the default model are."""

EXACT_EVIDENCE = 1.1
EXACTNESS = 16
"""The power of the coverage that tells holding every word from holding most of them."""
EXACT_SHARE = 0.1
"""How much the evidence still tells among records that hold every word."""

CALIBRATION = ((0.0, 0.0), (0.6, 0.3), (EXACT_EVIDENCE, 0.9), (1.8, 1.0))
"""From evidence to score: the best hit of an off-topic query stays below the second point, records that hold every word
reach the third, and the last is every lane's maximum. Straight in between."""

NEIGHBOUR_SHARE = 0.3
"""A record found through the graph alone scores at most this share of the candidate that led to it."""
NEIGHBOUR_BONUS = 0.2
"""How far being linked to a better candidate can lift a score, times that one's score; see `lifted`."""
RECENCY_BONUS = 0.2
"""How far being new can lift a score; see `lifted`."""


@dataclass(slots=True)
class Candidate:
    """A record that some lane found, with what each lane said of it."""

    id: str
    lexical: float | None = None
    """BM25 as the lexical lane gives it."""
    coverage: float = 0.0
    """The idf-weighted share of the query's terms that the record holds, 0 to 1."""
    cosine: float | None = None
    passage: tuple[int, int] | None = None
    """Character range of the best passage in the record's searchable text."""
    lexical_rank: int | None = None
    dense_rank: int | None = None
    graph_rank: int | None = None
    fused: float = 0.0
    score: float = 0.0
    sources: list[str] = field(default_factory=list)


def fuse(candidates: Mapping[str, Candidate], *, ceiling: float, dense: bool) -> None:
    """Set `fused`, 0 to 1, on every candidate. `ceiling` is the BM25 that no record can exceed for this query."""
    absent = _absent_cosine(candidates.values())
    for candidate in candidates.values():
        words = words_evidence(candidate, ceiling)
        if dense:
            near = absent if candidate.cosine is None else max(0.0, candidate.cosine)
            evidence = near + words
        else:
            evidence = WORDS_ALONE * words
        exact = EXACT_EVIDENCE * candidate.coverage**EXACTNESS + EXACT_SHARE * evidence
        candidate.fused = calibrated(max(evidence, exact))


def words_evidence(candidate: Candidate, ceiling: float) -> float:
    """How strongly a record holds the query's words, and how many of them."""
    strength = min(1.0, (candidate.lexical or 0.0) / ceiling) if ceiling > 0 else 0.0
    return BM25_WEIGHT * strength + COVERAGE_WEIGHT * candidate.coverage


def _absent_cosine(candidates: Iterable[Candidate]) -> float:
    last = min((c.cosine for c in candidates if c.cosine is not None), default=0.0)
    return min(max(0.0, last), BACKGROUND)


def calibrated(evidence: float) -> float:
    """Map evidence to a score from 0 to 1; it rises wherever evidence does."""
    low, low_score = CALIBRATION[0]
    for high, high_score in CALIBRATION[1:]:
        if evidence <= high:
            return low_score + (high_score - low_score) * max(0.0, evidence - low) / (high - low)
        low, low_score = high, high_score
    return low_score


def lifted(score: float, share: float) -> float:
    """Raise a score by up to a share (0 to 1) of what separates it from certainty either way.

    It rises wherever the score does and stays within 0 and 1, so a bonus never makes two scores equal; it moves the
    doubtful ones most, and hardly lifts what is off topic.
    """
    return score + share * score * (1 - score)


def recency(age_s: float, decay_days: float) -> float:
    """1 for a record of this moment, falling by half every `decay_days`; records of the future count as present."""
    # Divided in two steps: a tiny number of days would be no seconds at all.
    return float(0.5 ** (max(age_s, 0.0) / 86_400 / decay_days))


def ranked(candidates: Mapping[str, Candidate]) -> list[Candidate]:
    """Best first; ties go to the smaller id, so that pages never overlap."""
    return sorted(candidates.values(), key=lambda candidate: (-candidate.score, candidate.id))
