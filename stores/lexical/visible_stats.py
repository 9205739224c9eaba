"""BM25 statistics of the records that a caller may read, and scores by them; hidden records count for nothing.

The formula is Okapi BM25's (Robertson and Zaragoza, 2009, section 3.4).
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from tantivy import Occur, Query, Schema, Searcher

from stores.lexical.schema import LENGTHS, POSITION_KEY, RECORD, RESERVED, Field

Numbers = NDArray[np.float64]

K1: Final = 1.2
B: Final = 0.75
"""Tantivy's."""
LONGEST_USUAL: Final = 150
"""Cap of the average length in terms: a long page holds any word somewhere."""
_AVERAGE = "avgdl"
# Tantivy stores a length in a byte: exactly up to 40, then four binary digits of the part above 24.
_KEPT_WHOLE = 24
_DIGITS = 4
_Lengths = TypeVar("_Lengths", float, Numbers)
MOST_COUNTED = 10_000
"""Records counted (0.2 ms); above it their visible share is estimated."""
MOST_CONTINUATIONS = 8
_SHORT_ID = re.compile(r"(?:[a-z]+_)*[0-9a-f]{7,12}|[0-9a-f]{8}-[0-9a-f-]{,27}")
_BARE_UUID = re.compile(r"([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")
# Cached until the next commit, with all callers 20 MB at most.
_MOST_TERMS = 2_000
# Share of deleted position documents below which they do not change the average length.
_NEGLIGIBLE = 0.001


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


class VisibleStats:
    """Statistics of the records that a caller may read. Thread-safe."""

    def __init__(self, searcher: Searcher, schema: Schema, visible: Query) -> None:
        self._searcher, self._schema, self._visible = searcher, schema, visible
        records, positions = (searcher.doc_freq(RESERVED, each) for each in (RECORD, POSITION_KEY))
        self._written = records + positions
        """Tantivy's total; deleted records count until their segment is merged."""
        # Tantivy counts the position document too; without it a term of all records would have an idf near 0.
        self._total = _count(searcher, visible) + 1
        # Nothing is hidden or deleted, and deleted position documents are negligible: Tantivy's statistics hold.
        self._sees_all = self._total == searcher.num_docs == records + 1 and positions <= 1 + records * _NEGLIGIBLE
        self._known: dict[tuple[str, str], int] = {}
        self._lengths: Lengths | None = None

    @property
    def lengths(self) -> Lengths | None:
        """None if Tantivy's own hold."""
        if self._lengths is None:
            self._lengths = Lengths(self._searcher, self._schema, self._visible, self._total)
        return None if self._sees_all and not self._lengths.are_long else self._lengths

    def documents(self, field: str, value: str) -> int:
        written = self._searcher.doc_freq(field, value)
        if self._sees_all or not written:
            return written
        if written > MOST_COUNTED:
            return max(round(written * self._total / self._written), 1)
        known = self._known.get((field, value))
        if known is None:
            if len(self._known) >= _MOST_TERMS:
                self._known = {}
            known = self._known[field, value] = _count(
                self._searcher, Query.term_query(self._schema, field, value), self._visible
            )
        return known

    def is_written(self, token: str, words: Sequence[tuple[int, str]]) -> bool:
        """Return whether a visible record has the token, or its words at these places.

        Counted, not estimated. With a stop word missing, as in `it-204`, the token alone counts.
        """
        ways = []
        if [place for place, _ in words] != list(range(len(words))):
            words = ()
        if self._searcher.doc_freq("id", token):
            ways.append(self._is(token))
        if self._searcher.doc_freq("exact", token):
            ways.append(Query.term_query(self._schema, "exact", token))
        if words and all(self._searcher.doc_freq("text", word) for _, word in words):
            ways.append(
                Query.phrase_query(self._schema, "text", list(words))
                if len(words) > 1
                else Query.term_query(self._schema, "text", words[0][1])
            )
        return any(_count(self._searcher, way, self._visible) for way in ways)

    def continuations(self, field: str, beginning: str) -> list[tuple[str, int]]:
        """Return the visible terms with this beginning and their counts, the most frequent first; few."""
        # Most lookups find nothing; counting the visible records takes longer.
        if not self._searcher.terms_with_prefix(field, beginning, limit=1):
            return []
        found = self._searcher.terms_with_prefix(field, beginning, self._visible, MOST_CONTINUATIONS)
        return [(value, documents) for value, documents in found if documents]

    def records(self, name: str) -> list[str]:
        """Return the visible record with this id, or those whose generated id begins so, with its type or without."""
        beginning = name.lower()
        for whole in (name, _BARE_UUID.sub(r"\1-\2-\3-\4-\5", beginning)):
            if self._searcher.doc_freq("id", whole):
                return [whole] if _count(self._searcher, self._is(whole), self._visible) else []
        if not _SHORT_ID.fullmatch(beginning):
            return []
        types = [f"{value}_" for value, _ in self._searcher.terms_with_prefix("entity_type", "")]
        return [value for each in ("", *types) for value, _ in self.continuations("id", each + beginning)]

    def _is(self, record_id: str) -> Query:
        return Query.term_query(self._schema, "id", record_id, "basic")

    def idf(self, documents: int) -> float:
        return _idf(self._total, documents)

    def boost(self, field: str, value: str, idf: float) -> float:
        """Correct Tantivy's score of a term, which counts hidden and deleted records."""
        written = self._searcher.doc_freq(field, value)
        return idf / _idf(self._written, written)


def _count(searcher: Searcher, *required: Query) -> int:
    found = Query.boolean_query([(Occur.Must, Query.const_score_query(query, 0.0)) for query in required])
    return int(searcher.search(found, limit=1, count=True).count)  # type: ignore[attr-defined]  # missing in the stubs


def _idf(total: int, documents: int) -> float:
    return math.log1p((max(total, documents) - documents + 0.5) / (documents + 0.5))
