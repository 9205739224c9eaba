"""The passage to show of a hit that the words found: the dense lane knows the best one of what it found itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from stores.embedding import EmbeddingFailed, Passage, split_passages
from stores.embedding.shipped import load_tokenizer
from stores.embedding.wordpiece import PASSAGE_TOKENS
from stores.lexical import distinct_terms
from stores.records import Entity, searchable_text
from stores.vectors import VectorIndex
from tools.app import App
from tools.retrieval.ranking import Candidate

Span = tuple[int, int]

ONE_PASSAGE = 256
"""Characters that are too few to be divided for showing."""
MOST_READ = 2_000_000
"""Characters of one page that are read for passages, about a second of work; of further hits the first is shown."""


def with_passages(
    app: App, organization_id: str, page: Iterable[tuple[Candidate, Entity]], terms: Mapping[str, float]
) -> list[tuple[Candidate, Entity]]:
    """Give every hit that the words found the passage that holds the most of them, weighed by how rare they are.

    The passages are those that have vectors, where the index has them; else the text is divided alike.
    """
    found, unread = [], MOST_READ
    for hit, entity in page:
        text = searchable_text(entity) if hit.passage is None and hit.lexical_rank is not None else ""
        if not text:
            found.append((hit, entity))
            continue
        unread -= len(text)
        span = (0, len(text))
        if len(text) > ONE_PASSAGE:
            spans = _spans(app, organization_id, entity.id, text)
            span = best_passage(text, spans, terms) if unread >= 0 else spans[0]
        found.append((replace(hit, passage=span), entity))
    return found


def best_passage(text: str, spans: Sequence[Span], terms: Mapping[str, float]) -> Span:
    """The span whose words weigh the most, the first of equals."""
    if len(spans) == 1:
        return spans[0]

    def weight(span: Span) -> float:
        return sum(terms.get(term, 0.0) for term in distinct_terms(text[slice(*span)]))

    return max(spans, key=weight)


def _spans(app: App, organization_id: str, record_id: str, text: str) -> list[Span]:
    with app.indexer.indexes(organization_id) as indexes:
        known = _indexed(indexes.vectors, record_id)
    # An index that lags behind speaks of another text.
    if known and known[-1][1] == len(text):
        return known
    try:
        divided = app.embedder.split(text) if app.embedder is not None else _divide(text)
    except EmbeddingFailed:
        return [(0, len(text))]
    return [(passage.start, passage.end) for passage in divided]


def _divide(text: str) -> list[Passage]:
    return split_passages(text, _tokenizer(), limit=PASSAGE_TOKENS)


_tokenizer = cache(load_tokenizer)


def _indexed(vectors: VectorIndex | None, record_id: str) -> list[Span]:
    return vectors.spans(record_id) if vectors is not None else []
