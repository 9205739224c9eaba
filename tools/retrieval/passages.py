"""Choice of the passage to show of a lexical hit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest

from stores.language.spelling import roughly
from stores.language.wording import folded, without_accents
from stores.lexical import distinct
from stores.records import Entity, searchable_text
from tools.app import App
from tools.retrieval.ranking import Candidate

Span = tuple[int, int]

ONE_PASSAGE = 256
MOST_READ = 2_000_000
PASSAGE_CHARACTERS = 1_000
LEAST_SHARE = 0.75
READ_CLOSELY = 12
WORDS_LOOKED_FOR = 24


def with_passages(
    app: App, organization_id: str, page: Iterable[tuple[Candidate, Entity]], terms: Mapping[str, float]
) -> list[tuple[Candidate, Entity]]:
    """Set the passage of every lexical hit to the one with the highest sum of idf."""
    found, unread = [], MOST_READ
    for hit, entity in page:
        text = searchable_text(entity) if hit.passage is None and hit.lexical_rank is not None else ""
        if not text:
            found.append((hit, entity))
            continue
        unread -= len(text)
        span = (0, len(text))
        if len(text) > ONE_PASSAGE:
            spans = _indexed(app, organization_id, entity.id, len(text)) or divided(text)
            span = best_passage(text, spans, terms) if unread >= 0 else spans[0]
        found.append((replace(hit, passage=span), entity))
    return found


def best_passage(text: str, spans: Sequence[Span], terms: Mapping[str, float]) -> Span:
    if len(spans) == 1:
        return spans[0]

    def weight(span: Span) -> float:
        return sum(terms.get(term, 0.0) for term in distinct(text[slice(*span)]))

    return max(spans if len(spans) <= READ_CLOSELY else _promising(text, spans, terms), key=weight)


def divided(text: str) -> list[Span]:
    spans, start = list[Span](), 0
    while len(text) - start > PASSAGE_CHARACTERS:
        least, most = start + int(LEAST_SHARE * PASSAGE_CHARACTERS), start + PASSAGE_CHARACTERS
        ends = (
            text.rfind(mark, least, most) + len(mark) for mark in ("\n\n", "\n", ". ", " ") if mark in text[least:most]
        )
        end = next(ends, most)
        spans.append((start, end))
        start = end
    return [*spans, (start, len(text))]


def _promising(text: str, spans: Sequence[Span], terms: Mapping[str, float]) -> list[Span]:
    rarest = nlargest(WORDS_LOOKED_FOR, terms.items(), key=lambda item: item[1])
    roots = [(_root(term), weight) for term, weight in rarest]

    def weight(span: Span) -> float:
        folded = _folded(text[slice(*span)])
        return sum(weight for root, weight in roots if root in folded)

    return sorted(nlargest(READ_CLOSELY, spans, key=weight))


def _root(term: str) -> str:
    folded = _folded(term)
    return folded[:-1] if len(folded) > 3 and folded.isalpha() and folded.isascii() else folded


def _folded(text: str) -> str:
    return roughly(without_accents(folded(text)))


def _indexed(app: App, organization_id: str, record_id: str, length: int) -> list[Span]:
    with app.indexer.indexes(organization_id) as indexes:
        known = indexes.vectors.spans(record_id) if indexes.vectors is not None else []
    return known if known and known[-1][1] == length else []
