"""What a lexical search returns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from stores.lexical.queries import Plan


class LexicalHit(NamedTuple):
    """One record that holds at least one word of the query."""

    record_id: str
    score: float
    """BM25; comparable within one result only."""
    coverage: float
    """The idf-weighted share of the query's terms that the record holds, 0 to 1; comparable between queries."""


@dataclass(frozen=True, slots=True)
class LexicalResult:
    """Hits, best first, ties by id."""

    hits: tuple[LexicalHit, ...]
    ceiling: float
    """The BM25 score that no record can exceed for this query: `score / ceiling` is comparable between queries."""
    terms: Mapping[str, float]
    """The analysed terms that were looked for, rarest first, and the idf of each."""
    named: frozenset[str] = frozenset()
    """Those hits whose name is the whole question; they come first."""
    question: Plan | None = None
    """The analysed question; None where nothing was searched."""


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
