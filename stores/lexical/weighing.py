"""Scores of texts outside the index, such as earlier revisions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stores.indexed_text import indexed_parts
from stores.lexical.analysis import identifiers, positions, with_figures
from stores.lexical.hits import LexicalHit
from stores.lexical.lengths import K1, norm, usual
from stores.lexical.queries import Plan
from stores.lexical.schema import names
from stores.records import Entity


@dataclass(frozen=True, slots=True)
class _Text:
    record_id: str
    is_named: bool
    parts: Sequence[dict[int, str]]
    counts: Counter[tuple[str, str]]

    @property
    def length(self) -> int:
        return sum(map(len, self.parts))


def weigh(question: Plan, entities: Iterable[Entity]) -> tuple[list[LexicalHit], frozenset[str]]:
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


def _hit(question: Plan, text: _Text, usual_length: float) -> LexicalHit | None:
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
