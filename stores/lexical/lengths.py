"""Correct BM25 scores for the average text length of the visible records."""

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from tantivy import Query, Schema, Searcher

from stores.lexical.schema import LENGTHS, Field

Numbers = NDArray[np.float64]

K1: Final = 1.2
B: Final = 0.75
"""Tantivy's. The formula is Okapi BM25's (Robertson and Zaragoza, 2009, section 3.4)."""
LONGEST_USUAL: Final = 150
"""Cap of the average length in terms: a long page holds any word somewhere."""
_AVERAGE = "avgdl"
# Tantivy stores a length in a byte: exactly up to 40, beyond that with four binary digits of what is above 24.
_KEPT_WHOLE = 24
_DIGITS = 4


_Lengths = TypeVar("_Lengths", float, Numbers)


def norm(length: _Lengths, average: float) -> _Lengths:
    """Return the term frequency that gets half of a term's possible score."""
    return K1 * (1 - B + B * length / average)


class Norms(NamedTuple):
    written: Numbers
    """Length norms that Tantivy used: average over all records."""
    seen: Numbers
    """Length norms for the caller: average over the visible records."""


class Part(NamedTuple):
    masses: Numbers
    """Summed idf of the matching terms."""
    norms: Norms


def usual(average: float) -> float:
    return min(average, LONGEST_USUAL)


class Lengths:
    """Average lengths by field, over all records and over the visible ones."""

    def __init__(self, searcher: Searcher, schema: Schema, visible: Query, total: int) -> None:
        self._searcher, self._schema = searcher, schema
        sums = searcher.aggregate(visible, {name: {"sum": {"field": column}} for name, column in LENGTHS.items()})
        averages = {name: sums[name]["value"] / total for name in LENGTHS}
        self.are_long = averages["text"] > LONGEST_USUAL
        self._seen = {name: usual(average) for name, average in averages.items()}
        self._written: dict[Field, float] = {}

    def norms(self, field: Field, term: str, lengths: Sequence[int]) -> Norms:
        """Some record must hold the term in the field."""
        if field not in self._written:
            self._written[field] = self._average(field, term)
        kept = as_kept(np.array(lengths, dtype=np.int64)).astype(np.float64)
        return Norms(norm(kept, self._written[field]), norm(kept, self._seen[field]))

    def _average(self, field: Field, term: str) -> float:
        # Tantivy tells its average only in the explanation of a score.
        query = Query.term_query(self._schema, field, term)
        address = self._searcher.search(query, limit=1, count=False).hits[0][1]
        return _find(json.loads(query.explain(self._searcher, address).to_json()))


def as_kept(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round lengths as Tantivy stores them."""
    above = np.maximum(lengths - _KEPT_WHOLE, 0)
    dropped = np.maximum(np.frexp(above)[1] - _DIGITS, 0)
    return np.where(above, _KEPT_WHOLE + (above >> dropped << dropped), lengths)


def rescored(scores: Numbers, words: Part, tokens: Part) -> Numbers:
    """Correct BM25 scores, assuming an exact token once, and all matching words equally often."""
    of_tokens = tokens.masses / (1 + tokens.norms.written)
    share = np.divide(scores / (K1 + 1) - of_tokens, words.masses, out=np.zeros_like(scores), where=words.masses > 0)
    # A score has 24 bits: for a very frequent term the share may round to 1.
    share = np.clip(share, 0.0, 1 - 1e-6)
    count = np.maximum(words.norms.written * share / (1 - share), 1.0)
    of_words = words.masses * count / (count + words.norms.seen)
    result: Numbers = (K1 + 1) * (of_words + tokens.masses / (1 + tokens.norms.seen))
    return result


def _find(explained: Mapping[str, object]) -> float:
    waiting = [explained]
    while waiting:
        each = waiting.pop()
        if str(each["description"]).startswith(_AVERAGE):
            return float(str(each["value"]))
        details = each.get("details")
        waiting += details if isinstance(details, list) else []
    raise ValueError(f"Tantivy explains a score without {_AVERAGE}")
