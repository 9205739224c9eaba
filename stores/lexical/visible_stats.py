"""BM25 statistics of the records that a caller may read; hidden records count for nothing."""

import math
import re
from collections.abc import Sequence

from tantivy import Occur, Query, Schema, Searcher

from stores.lexical.lengths import Lengths
from stores.lexical.schema import POSITION_KEY, RECORD, RESERVED

MOST_COUNTED = 10_000
"""Records counted (0.2 ms); above it their visible share is estimated."""
MOST_CONTINUATIONS = 8
_SHORT_ID = re.compile(r"(?:[a-z]+_)*[0-9a-f]{7,12}|[0-9a-f]{8}-[0-9a-f-]{,27}")
_BARE_UUID = re.compile(r"([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")
# Cached until the next commit, with all callers 20 MB at most.
_MOST_TERMS = 2_000
# Share of deleted position documents below which they do not change the average length.
_NEGLIGIBLE = 0.001


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
        # Most lookups find nothing; counting what is visible takes longer.
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
