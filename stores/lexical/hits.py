"""Results of a lexical search: hits, the terms that they hold, and scores by visible statistics."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tantivy import DocAddress, Document, Query, Schema, Searcher

from stores.hits import Hits
from stores.indexed_text import indexed_parts
from stores.lexical.analysis import identifiers, positions, with_figures
from stores.lexical.queries import LexicalPlan, any_of, covering, filters
from stores.lexical.schema import LENGTHS, Field, names
from stores.lexical.visible_stats import K1, Lengths, Norms, Numbers, Part, VisibleStats, norm, rescored, usual
from stores.records import Entity, IndexFilter

MOST_HELD = 2_000
"""Records whose terms `held` reads, those with most of the question first."""
_AT_ONCE = 1_000
# Records whose share of a question is read at once. With half or twice as many, a search of 5,000 abstracts takes a
# tenth longer.


class LexicalHit(NamedTuple):
    record_id: str
    score: float
    """BM25; comparable within one result only."""
    coverage: float
    """Idf-weighted share of the query's terms, 0 to 1; comparable between queries."""


class LexicalHits(Hits[LexicalHit]):
    kind = LexicalHit
    dtypes = (np.float64, np.float64)

    @property
    def coverage(self) -> Numbers:
        return self.columns[1]


@dataclass(frozen=True, slots=True)
class LexicalResult:
    """Hits, best first, ties by id."""

    hits: LexicalHits
    ceiling: float
    """Upper bound of BM25: `score / ceiling` is comparable between queries."""
    terms: Mapping[str, float]
    """Idf of each analysed term, rarest first."""
    named: frozenset[str] = frozenset()
    """Hits whose name is the whole question; they come first."""
    question: LexicalPlan | None = None

    @property
    def unknown(self) -> float:
        return self.question.unknown if self.question is not None else 0.0


@dataclass(frozen=True, slots=True)
class HeldTerms:
    """Terms of a question that records in threads hold."""

    shares: tuple[float, ...]
    """Shares of the question's idf, rarest term first."""
    marks: Mapping[int, int]
    """Bits by record key, the lowest for the last term."""

    def of(self, keys: Iterable[int]) -> list[int]:
        return [self.marks.get(key, 0) for key in keys]


class Scored(NamedTuple):
    """Hit on its way to a result."""

    id: str
    score: float
    key: int
    address: DocAddress


def in_order(hits: Iterable[Scored]) -> list[Scored]:
    """Sort best first, ties by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def keys_of(searcher: Searcher, addresses: list[DocAddress]) -> list[int]:
    return [int(value or 0) for value in searcher.fast_field_values("key", addresses)]


def scores_by_key(searcher: Searcher, query: Query, limit: int) -> dict[int, float]:
    found = searcher.search(query, limit=limit, count=False).hits
    keys = keys_of(searcher, [address for _, address in found])
    return dict(zip(keys, [score for score, _ in found], strict=True))


def records_of(searcher: Searcher) -> Iterator[Document]:
    for _, address in searcher.search(Query.all_query(), limit=max(searcher.num_docs, 1), count=False).hits:
        document = searcher.doc(address)
        if document.get_first("id") is not None:
            yield document


class Holding:
    """Matching terms and visible scores of the hits of one question."""

    def __init__(self, searcher: Searcher, schema: Schema, question: LexicalPlan, accepted: IndexFilter) -> None:
        self._searcher, self._schema = searcher, schema
        self._question, self._accepted = question, accepted

    def masses(self, hits: Sequence[Scored], question: LexicalPlan | None = None) -> dict[int, float]:
        """Return the summed idf of the terms that each hit holds, by key, if any."""
        question = question or self._question
        if not question.present or not hits:
            return {}
        # Nearly every hit is among the best covered; a query by id takes three times as long.
        query = covering(self._schema, question, filters(self._schema, self._accepted))
        held = scores_by_key(self._searcher, query, _AT_ONCE)
        others = [hit.id for hit in hits if hit.key not in held] if len(held) == _AT_ONCE else []
        if others:
            query = covering(self._schema, question, [any_of(self._schema, "id", others)])
            held |= scores_by_key(self._searcher, query, len(others))
        return held

    def as_seen(self, stats: VisibleStats, hits: Sequence[Scored], held: Mapping[int, float]) -> Sequence[Scored]:
        """Rescore hits by the visible average length; `held` is from `masses`."""
        lengths, question = stats.lengths, self._question
        if lengths is None or not hits or not question.present:
            return hits
        tokens = self._part(lengths, hits, "exact", self.masses(hits, question.within("exact")))
        words = self._part(lengths, hits, "text", held)
        words = words._replace(masses=np.maximum(words.masses - tokens.masses, 0.0))
        scores = rescored(np.array([hit.score for hit in hits]), words, tokens)
        return in_order(hit._replace(score=score) for hit, score in zip(hits, scores.tolist(), strict=True))

    def _part(self, lengths: Lengths, hits: Sequence[Scored], field: Field, masses: Mapping[int, float]) -> Part:
        present = self._question.within(field).present
        if not present:
            nothing = np.zeros(len(hits))
            return Part(nothing, Norms(nothing, nothing))
        sizes = self._searcher.fast_field_values(LENGTHS[field], [hit.address for hit in hits])
        norms = lengths.norms(field, present[0].value, [int(size or 0) for size in sizes])
        return Part(np.array([masses.get(hit.key, 0.0) for hit in hits]), norms)


@dataclass(frozen=True, slots=True)
class _Text:
    record_id: str
    is_named: bool
    parts: Sequence[dict[int, str]]
    counts: Counter[tuple[str, str]]

    @property
    def length(self) -> int:
        return sum(map(len, self.parts))


def weigh(question: LexicalPlan, entities: Iterable[Entity]) -> tuple[list[LexicalHit], frozenset[str]]:
    """Return the records with some term and every phrase, by BM25 with the index's idf, and those named so."""
    texts = [_read(entity, question.name) for entity in entities]
    average = sum(text.length for text in texts) / len(texts) if texts else 0.0
    hits = [hit for text in texts if (hit := _hit(question, text, usual(average))) is not None]
    named = frozenset(text.record_id for text in texts if text.is_named)
    return sorted(hits, key=lambda hit: (hit.record_id not in named, -hit.score, hit.record_id)), named


def _read(entity: Entity, name: str) -> _Text:
    written = indexed_parts(entity)
    parts = [dict(positions(part)) for part in with_figures(written)]
    counts = Counter(("text", term) for part in parts for term in part.values())
    counts.update(("exact", token) for token in identifiers("\n".join(written)))
    return _Text(entity.id, name in names(entity), parts, counts)


def _hit(question: LexicalPlan, text: _Text, usual_length: float) -> LexicalHit | None:
    held = {
        term: count for term in question.terms if (count := sum(text.counts[term.field, each] for each in term.values))
    }
    often = norm(text.length, usual_length) if usual_length else K1
    score = 0.0
    for term, count in held.items():
        score += term.idf * (K1 + 1) * count / (count + often)
    if text.is_named:
        return LexicalHit(text.record_id, score, 1.0)
    if not held or not all(_holds(text, phrase) for phrase in question.phrases):
        return None
    return LexicalHit(text.record_id, score, min(sum(term.idf for term in held) / question.mass, 1.0))


def _holds(text: _Text, phrase: Sequence[tuple[int, str]]) -> bool:
    first, word = phrase[0]
    if len(phrase) == 1:
        return bool(text.counts["text", word] or text.counts["exact", word])
    return any(
        all(part.get(start + place - first) == term for place, term in phrase)
        for part in text.parts
        for start, found in part.items()
        if found == word
    )
