"""Choice of the passage to show of a lexical hit."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest

from stores.language.spelling import in_one_spelling
from stores.language.wording import plain
from stores.lexical import distinct
from stores.records import Entity, searchable_text
from tools.retrieval.pool import Candidate

Span = tuple[int, int]
_SENTENCE = re.compile(r"\S(?:[^.!?\u3002\uff01\uff1f\n]|[.!?](?=\S))*[.!?\u3002\uff01\uff1f]*")
Roots = Sequence[tuple[str, float]]
"""Beginnings of words, with their weights."""

ONE_PASSAGE = 256
MOST_READ = 2_000_000
PASSAGE_CHARACTERS = 1_000
LEAST_SHARE = 0.75
WORDS_LOOKED_FOR = 24
FAR_MORE = 0.25
"""Share of the question's idf that another passage than the nearest must hold in addition."""


def with_passages(
    page: Iterable[tuple[Candidate, Entity]], terms: Mapping[str, float]
) -> list[tuple[Candidate, Entity]]:
    """Set the passage of every hit: the nearest, unless another holds far more of the words (by idf).

    A long passage begins at the sentence with most of them. It lies in the description and content.
    """
    found, unread, roots = [], MOST_READ, roots_of(terms)
    for hit, entity in page:
        text = searchable_text(entity) if "lexical" in hit.ranks else ""
        unread -= len(text)
        first, last = body = body_of(entity)
        span = None if hit.passage is None else _within(hit.passage, body)
        if text and last - first <= ONE_PASSAGE:
            span = span or body
        elif text:
            spans = [(start + first, end + first) for start, end in divided(text[first:last])]
            if unread >= 0:
                span = focused(text, best_passage(text, spans, roots, span), terms, roots)
            span = span or spans[0]
        found.append((replace(hit, passage=span), entity))
    return found


def body_of(entity: Entity) -> Span:
    """Return the place of the description and content in `searchable_text`, of the name where there are none."""
    parts = dict.fromkeys((entity.description, entity.content))
    said = "\n".join(part for part in parts if part not in ("", entity.name))
    start = len(entity.name) + 1 if entity.name and said else 0
    return start, start + len(said or entity.name)


def _within(span: Span, body: Span) -> Span | None:
    start, end = max(span[0], body[0]), min(span[1], body[1])
    return (start, end) if start < end else None


def best_passage(text: str, spans: Sequence[Span], roots: Roots, nearest: Span | None = None) -> Span:
    if len(spans) == 1:
        return nearest or spans[0]
    best = max(spans, key=lambda span: _held(text, span, roots))
    if nearest is None:
        return best
    more = _held(text, best, roots) - _held(text, nearest, roots)
    return best if more > FAR_MORE * sum(weight for _, weight in roots) else nearest


def focused(text: str, span: Span, terms: Mapping[str, float], roots: Roots) -> Span:
    """Begin at the sentence with most of the terms, unless it stands in the first `ONE_PASSAGE` characters."""
    start, end = span
    if end - start <= ONE_PASSAGE:
        return span
    parts = [sentence.span() for sentence in _SENTENCE.finditer(text, start, end)]
    held = [_held(text, part, roots) for part in parts]
    if not any(held):
        # The form of a number or day is not in the text.
        held = [sum(terms.get(term, 0.0) for term in distinct(text[slice(*part)])) for part in parts]
    at = held.index(max(held))
    return span if not held[at] or parts[at][1] <= start + ONE_PASSAGE else (parts[at][0], end)


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


def roots_of(terms: Mapping[str, float]) -> Roots:
    rarest = nlargest(WORDS_LOOKED_FOR, terms.items(), key=lambda item: item[1])
    return [(_root(term), weight) for term, weight in rarest]


def _root(term: str) -> str:
    folded = _folded(term)
    return folded[:-1] if len(folded) > 3 and folded.isalpha() and folded.isascii() else folded


def _held(text: str, span: Span, roots: Roots) -> float:
    said = _folded(text[slice(*span)])
    return sum(weight for root, weight in roots if root in said)


def _folded(text: str) -> str:
    return in_one_spelling(plain(text))
