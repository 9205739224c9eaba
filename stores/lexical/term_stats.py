"""BM25 statistics of an index, shared within its organization (docs/explain/security.md)."""

import math
from collections.abc import Sequence
from typing import Final

from tantivy import Occur, Query, Schema, Searcher

from stores.lexical.schema import POSITION_KEY, RECORD, RESERVED, Field

K1: Final = 1.2
B: Final = 0.75
"""Tantivy's. The formula is Okapi BM25's (Robertson and Zaragoza, 2009, section 3.4)."""


class TermStats:
    """Document frequencies as Tantivy counts them: deleted records count until their segment is merged."""

    def __init__(self, searcher: Searcher, schema: Schema, visible: Query) -> None:
        self._searcher, self._schema, self._visible = searcher, schema, visible
        self._total = sum(searcher.doc_freq(RESERVED, each) for each in (RECORD, POSITION_KEY))

    def documents(self, field: Field, value: str) -> int:
        """Count the records that hold a term."""
        return int(self._searcher.doc_freq(field, value))

    def idf(self, documents: int) -> float:
        """Return the BM25 idf of a term that so many records hold."""
        return math.log1p((max(self._total, documents) - documents + 0.5) / (documents + 0.5))

    def is_written(self, token: str, words: Sequence[tuple[int, str]]) -> bool:
        """Return whether a visible record has an exact token, or its words one behind the other.

        Where a stop word is missing among the words, as in `it-204`, the token alone counts. An id counts as written
        in its record.
        """
        ways = []
        if self._searcher.doc_freq("id", token):
            ways.append(Query.term_query(self._schema, "id", token, "basic"))
        if self.documents("exact", token):
            ways.append(Query.term_query(self._schema, "exact", token))
        is_whole = bool(words) and [place for place, _ in words] == list(range(len(words)))
        if is_whole and all(self.documents("text", word) for _, word in words):
            ways.append(
                Query.phrase_query(self._schema, "text", list(words))
                if len(words) > 1
                else Query.term_query(self._schema, "text", words[0][1])
            )
        return any(map(self._is_seen, ways))

    def _is_seen(self, query: Query) -> bool:
        both = Query.boolean_query([(Occur.Must, query), (Occur.Must, self._visible)])
        return bool(self._searcher.search(both, limit=1, count=False).hits)


def norm(length: float, average: float) -> float:
    """Return the term frequency at which a text of that length gets half of a term's possible score."""
    return K1 * (1 - B + B * length / average)
