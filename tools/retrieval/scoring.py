"""Pure scoring: lane scores in, one comparable score per record out. No I/O, no clock.

Lanes are fused by a convex combination of scores that are normalised by what the query could reach, not by its own best
hit (theoretical min-max normalisation: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval",
ACM TOIS 2023). So scores of different queries compare: an exact answer is near 1, an off-topic best hit stays low.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

LEXICAL_WEIGHT = 0.5
COSINE_FLOOR = 0.15
"""Cosines of unrelated texts under the default model lie around and below this."""
COSINE_CEILING = 0.75
"""A question and the passage that answers it rarely come closer than this."""
NEIGHBOUR_SHARE = 0.6
"""A record found through the graph alone scores at most this share of the candidate that led to it."""
NEIGHBOUR_BONUS = 0.05
"""What a candidate gains from being linked to a better one, as a share of that one's score."""
RECENCY_BONUS = 0.05
"""The most that recency adds, as a share of the score."""


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


def dense_score(cosine: float | None) -> float:
    """Map a cosine to 0..1."""
    if cosine is None:
        return 0.0
    return min(1.0, max(0.0, (cosine - COSINE_FLOOR) / (COSINE_CEILING - COSINE_FLOOR)))


def lexical_score(candidate: Candidate, ceiling: float) -> float:
    """Map BM25 to 0..1: the share of the query that is there, weighted by how strongly it is there."""
    if candidate.lexical is None or ceiling <= 0:
        return 0.0
    return min(1.0, candidate.coverage * math.sqrt(min(1.0, candidate.lexical / ceiling) or 0.0) ** 0.5)


def fuse(candidates: Mapping[str, Candidate], *, ceiling: float, dense: bool) -> None:
    """Set `fused` on every candidate; without a dense lane the lexical one stands alone."""
    weight = LEXICAL_WEIGHT if dense else 1.0
    for candidate in candidates.values():
        candidate.fused = weight * lexical_score(candidate, ceiling) + (1 - weight) * dense_score(candidate.cosine)


def recency(updated_at: datetime, now: datetime, decay_days: float) -> float:
    """1 for a record of this moment, falling by half every `decay_days`; records of the future count as present."""
    age = max(now - updated_at, timedelta())
    return float(0.5 ** (age / timedelta(days=decay_days)))


def ranked(candidates: Mapping[str, Candidate]) -> list[Candidate]:
    """Best first; ties go to the smaller id, so that pages never overlap."""
    return sorted(candidates.values(), key=lambda candidate: (-candidate.score, candidate.id))
