"""Results of a lexical search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from stores.lexical.queries import Plan

Numbers = NDArray[np.float64]


class LexicalHit(NamedTuple):
    """Record that holds at least one word of the query."""

    record_id: str
    score: float
    """BM25; comparable within one result only."""
    coverage: float
    """Idf-weighted share of the query's terms in the record, 0 to 1; comparable between queries."""


class LexicalHits(Sequence[LexicalHit]):
    """Hits as columns: hundreds are ranked, few are looked at one by one."""

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
    """Upper bound of BM25 for this query: `score / ceiling` is comparable between queries."""
    terms: Mapping[str, float]
    """Idf of each analysed term, rarest first."""
    named: frozenset[str] = frozenset()
    """Hits whose name is the whole question; they come first."""
    question: Plan | None = None
    """Analysed question; None where nothing was searched."""

    @property
    def unknown(self) -> float:
        """Share of the question that identifiers are which no visible record holds."""
        return self.question.unknown if self.question is not None else 0.0


@dataclass(frozen=True, slots=True)
class HeldTerms:
    """Terms of a question that records in threads hold."""

    shares: tuple[float, ...]
    """Share of each term in the question's idf, rarest first, without the least rare of many."""
    marks: Mapping[int, int]
    """Bits by record key, one for each term that it holds, the lowest for the last term."""

    def of(self, keys: Iterable[int]) -> list[int]:
        """Return the bits of some records; 0 for one that holds no term."""
        return [self.marks.get(key, 0) for key in keys]
