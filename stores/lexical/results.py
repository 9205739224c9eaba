"""Results of a lexical search."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stores.hits import Hits
from stores.lexical.queries import Plan

Numbers = NDArray[np.float64]


class LexicalHit(NamedTuple):
    record_id: str
    score: float
    """BM25; comparable within one result only."""
    coverage: float
    """Idf-weighted share of the query's terms, 0 to 1; comparable between queries."""


class LexicalHits(Hits[LexicalHit]):
    kind = LexicalHit
    dtypes = (np.float64, np.float64)

    @property
    def coverage(self) -> Numbers:
        return self.columns[1]


@dataclass(frozen=True, slots=True)
class LexicalResult:
    """Hits, best first, ties by id."""

    hits: LexicalHits
    ceiling: float
    """Upper bound of BM25: `score / ceiling` is comparable between queries."""
    terms: Mapping[str, float]
    """Idf of each analysed term, rarest first."""
    named: frozenset[str] = frozenset()
    """Hits whose name is the whole question; they come first."""
    question: Plan | None = None

    @property
    def unknown(self) -> float:
        return self.question.unknown if self.question is not None else 0.0


@dataclass(frozen=True, slots=True)
class HeldTerms:
    """Terms of a question that records in threads hold."""

    shares: tuple[float, ...]
    """Shares of the question's idf, rarest term first."""
    marks: Mapping[int, int]
    """Bits by record key, the lowest for the last term."""

    def of(self, keys: Iterable[int]) -> list[int]:
        return [self.marks.get(key, 0) for key in keys]
