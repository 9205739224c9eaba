"""Results of a lexical search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from stores.lexical.queries import Plan

Numbers = NDArray[np.float64]


class LexicalHit(NamedTuple):
    record_id: str
    score: float
    """BM25; comparable within one result only."""
    coverage: float
    """Idf-weighted share of the query's terms, 0 to 1; comparable between queries."""


class LexicalHits(Sequence[LexicalHit]):
    """Columns, because hundreds are ranked and few looked at."""

    def __init__(self, ids: Sequence[str], scores: Numbers, coverage: Numbers) -> None:
        self.ids = ids
        self.scores = scores
        self.coverage = coverage

    @classmethod
    def of(cls, hits: Iterable[LexicalHit]) -> Self:
        found = list(hits)
        return cls(
            [hit.record_id for hit in found],
            np.array([hit.score for hit in found], np.float64),
            np.array([hit.coverage for hit in found], np.float64),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    @overload
    def __getitem__(self, at: int) -> LexicalHit: ...

    @overload
    def __getitem__(self, at: slice) -> Self: ...

    def __getitem__(self, at: int | slice) -> LexicalHit | Self:
        if isinstance(at, slice):
            return type(self)(self.ids[at], self.scores[at], self.coverage[at])
        return LexicalHit(self.ids[at], float(self.scores[at]), float(self.coverage[at]))


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
