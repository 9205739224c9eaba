"""What a lexical search returns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from stores.lexical.queries import Plan

Numbers = NDArray[np.float64]


class LexicalHit(NamedTuple):
    """One record that holds at least one word of the query."""

    record_id: str
    score: float
    """BM25; comparable within one result only."""
    coverage: float
    """The idf-weighted share of the query's terms that the record holds, 0 to 1; comparable between queries."""


class LexicalHits(Sequence[LexicalHit]):
    """Hits as columns, in their order: hundreds of them are ranked, and few are looked at one by one."""

    def __init__(self, ids: Sequence[str], scores: Numbers, coverage: Numbers) -> None:
        self.ids = ids
        self.scores = scores
        self.coverage = coverage

    @classmethod
    def of(cls, hits: Iterable[LexicalHit]) -> Self:
        """Take hits one by one."""
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
    """The BM25 score that no record can exceed for this query: `score / ceiling` is comparable between queries."""
    terms: Mapping[str, float]
    """The analysed terms that were looked for, rarest first, and the idf of each."""
    named: frozenset[str] = frozenset()
    """Those hits whose name is the whole question; they come first."""
    question: Plan | None = None
    """The analysed question; None where nothing was searched."""

    @property
    def unknown(self) -> float:
        """The share of the question that identifiers are which no record holds that is seen."""
        return self.question.unknown if self.question is not None else 0.0


@dataclass(frozen=True, slots=True)
class HeldTerms:
    """Which of a question's terms the records of threads hold."""

    shares: tuple[float, ...]
    """The share of the question's idf that each term has, rarest first; the least rare of many are left out."""
    marks: Mapping[int, int]
    """By a record's key: a bit for each term that it holds, the lowest bit for the last term."""

    def of(self, keys: Iterable[int]) -> list[int]:
        """The bits of some records, 0 for one that holds no term."""
        return [self.marks.get(key, 0) for key in keys]
