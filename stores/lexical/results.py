"""What a lexical search returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


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
