"""What one sees of an index: how many records, and how many of them hold a word; what is hidden counts for nothing."""

import math
from collections.abc import Sequence

from tantivy import Occur, Query, Schema, Searcher

from stores.lexical.lengths import Lengths
from stores.lexical.schema import POSITION_KEY, RECORD, RESERVED

MOST_COUNTED = 10_000
"""Of a term that no more records hold it is counted how many of them are seen, in 0.2 ms at most; of one that more
hold, as large a share is taken to be seen as of all records."""
# People and keys whose sight is known until the next commit, and terms of which it is known how many each sees: some
# 20 MB at most.
_MOST_SIGHTS = 64
_MOST_KNOWN = 2_000
# Which share of all records deleted positions may be for the usual length of a text to be what it is without them.
_HARDLY = 0.001


class Sight:
    """An index as one sees it who sees some of its records. Reads may come from any thread."""

    def __init__(self, searcher: Searcher, schema: Schema, visible: Query) -> None:
        self._searcher, self._schema, self._visible = searcher, schema, visible
        records, positions = (searcher.doc_freq(RESERVED, each) for each in (RECORD, POSITION_KEY))
        self._written = records + positions
        """What Tantivy counts as all there is: deleted records as well, until their segment is merged."""
        # One more, as Tantivy counts the position: what all of a few records hold says a little, not next to nothing.
        self._total = _count(searcher, visible) + 1
        # No record is hidden or deleted, and deleted positions, which make texts shorter on average, hardly count.
        self._sees_all = self._total == searcher.num_docs == records + 1 and positions <= 1 + records * _HARDLY
        self._known: dict[tuple[str, str], int] = {}
        self._lengths: Lengths | None = None

    @property
    def lengths(self) -> Lengths | None:
        """How long texts usually are; None where that is what Tantivy counts."""
        if self._lengths is None:
            self._lengths = Lengths(self._searcher, self._schema, self._visible, self._total)
        return None if self._sees_all and not self._lengths.are_long else self._lengths

    def documents(self, field: str, value: str) -> int:
        """How many of the records that are seen hold a term."""
        written = self._searcher.doc_freq(field, value)
        if self._sees_all or not written:
            return written
        if written > MOST_COUNTED:
            return max(round(written * self._total / self._written), 1)
        known = self._known.get((field, value))
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            known = self._known[field, value] = _count(
                self._searcher, Query.term_query(self._schema, field, value), self._visible
            )
        return known

    def has_written(self, token: str, words: Sequence[tuple[int, str]]) -> bool:
        """Whether some record that is seen has an exact token, or its words at these places. Counted, never guessed.

        Where a stop word is missing among them, as in `it-204`, they are in any text about 204: then the token alone
        counts. An id is had by its record.
        """
        ways = []
        if [place for place, _ in words] != list(range(len(words))):
            words = ()
        if self._searcher.doc_freq("id", token):
            ways.append(Query.term_query(self._schema, "id", token, "basic"))
        if self._searcher.doc_freq("exact", token):
            ways.append(Query.term_query(self._schema, "exact", token))
        if words and all(self._searcher.doc_freq("text", word) for _, word in words):
            ways.append(
                Query.phrase_query(self._schema, "text", list(words))
                if len(words) > 1
                else Query.term_query(self._schema, "text", words[0][1])
            )
        return any(_count(self._searcher, way, self._visible) for way in ways)

    def idf(self, documents: int) -> float:
        """How rare a term is that so many of the records hold that are seen."""
        return _idf(self._total, documents)

    def boost(self, field: str, value: str, idf: float) -> float:
        """By what to multiply Tantivy's score of a term, which counts what is hidden and what is deleted."""
        written = self._searcher.doc_freq(field, value)
        return idf / _idf(self._written, written)


class Sights:
    """The sights of those who asked since the last commit."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._kept: tuple[Searcher | None, dict[frozenset[str], Sight]] = (None, {})

    def of(self, searcher: Searcher, visibility: frozenset[str], visible: Query) -> Sight:
        """The sight of who sees records of these visibility keys, which the query finds."""
        owner, sights = self._kept
        if owner is not searcher or len(sights) >= _MOST_SIGHTS:
            sights = {}
            self._kept = searcher, sights
        sight = sights.get(visibility)
        if sight is None:
            sight = sights[visibility] = Sight(searcher, self._schema, visible)
        return sight

    def forget(self) -> None:
        """Keep nothing of a searcher that is no longer asked."""
        self._kept = (None, {})


def _count(searcher: Searcher, *required: Query) -> int:
    """How many records match every query."""
    found = Query.boolean_query([(Occur.Must, Query.const_score_query(query, 0.0)) for query in required])
    return int(searcher.search(found, limit=1, count=True).count)  # type: ignore[attr-defined]  # missing in the stubs


def _idf(total: int, documents: int) -> float:
    """BM25's rarity of a term that some of all records hold."""
    return math.log1p((max(total, documents) - documents + 0.5) / (documents + 0.5))
