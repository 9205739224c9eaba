"""Which terms the hits of a question hold, and what they score as somebody sees the index."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from tantivy import DocAddress, Query, Schema, Searcher

from stores.lexical.lengths import Lengths, Norms, Part, rescored
from stores.lexical.queries import Plan, any_of, covering, filters
from stores.lexical.schema import LENGTHS, Field
from stores.lexical.sight import Sight
from stores.records import IndexFilter

MOST_HELD = 2_000
"""Records of which it is read what they hold of a question, those with most of it first."""
_AT_ONCE = 1_000
# Records whose share of a question is read before those hits that are not among them are asked for by id: with half or
# twice as many, a search of 5,000 abstracts takes a tenth longer.


class Scored(NamedTuple):
    """A hit of the engine."""

    record_id: str
    score: float
    key: int
    address: DocAddress


def keys_of(searcher: Searcher, hits: Sequence[tuple[float, DocAddress]]) -> list[int]:
    """The keys of records, from a column."""
    return [int(value or 0) for value in searcher.fast_field_values("key", [address for _, address in hits])]


def scores_by_key(searcher: Searcher, query: Query, limit: int) -> dict[int, float]:
    """What a query gives to records, by their keys; the highest of them."""
    found = searcher.search(query, limit=limit, count=False).hits
    return dict(zip(keys_of(searcher, found), [score for score, _ in found], strict=True))


class Holding:
    """What the hits of one question hold of it."""

    def __init__(self, searcher: Searcher, schema: Schema, question: Plan, accepted: IndexFilter) -> None:
        self._searcher, self._schema = searcher, schema
        self._question, self._accepted = question, accepted

    def masses(self, hits: Sequence[Scored], question: Plan | None = None) -> dict[int, float]:
        """The summed idf of the terms of the question that each hit holds, by its key; one that holds none may lack."""
        question = question or self._question
        if not hits or not question.present:
            return {}
        # Nearly every hit is among those that hold most of the question; asking for all by id takes thrice as long.
        query = covering(self._schema, question, filters(self._schema, self._accepted))
        held = scores_by_key(self._searcher, query, _AT_ONCE)
        others = [hit.record_id for hit in hits if hit.key not in held] if len(held) == _AT_ONCE else []
        if others:
            query = covering(self._schema, question, [any_of(self._schema, "id", others)])
            held |= scores_by_key(self._searcher, query, len(others))
        return held

    def as_seen(self, sight: Sight, hits: Sequence[Scored], held: Mapping[int, float]) -> list[Scored]:
        """The hits with what they score where nothing counts that is not seen, best first, ties by id.

        Tantivy takes how long texts are on average over everything. What the hits hold is as `masses` says.
        """
        lengths, question = sight.lengths, self._question
        if lengths is None or not hits or not question.present:
            return list(hits)
        tokens = self._part(lengths, hits, "exact", self.masses(hits, question.within("exact")))
        words = self._part(lengths, hits, "text", held)
        words = words._replace(masses=np.maximum(words.masses - tokens.masses, 0.0))
        scores = rescored(np.array([hit.score for hit in hits]), words, tokens).tolist()
        seen = [hit._replace(score=score) for hit, score in zip(hits, scores, strict=True)]
        return sorted(seen, key=lambda hit: (-hit.score, hit.record_id))

    def _part(self, lengths: Lengths, hits: Sequence[Scored], field: Field, masses: Mapping[int, float]) -> Part:
        """What each hit holds in a field, and its norms there."""
        present = self._question.within(field).present
        if not present:
            nothing = np.zeros(len(hits))
            return Part(nothing, Norms(nothing, nothing))
        sizes = self._searcher.fast_field_values(LENGTHS[field], [hit.address for hit in hits])
        norms = lengths.norms(field, present[0].value, [int(size or 0) for size in sizes])
        return Part(np.array([masses.get(hit.key, 0.0) for hit in hits]), norms)
