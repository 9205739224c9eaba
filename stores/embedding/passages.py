"""Splitting of long texts into passages that fit an embedding model."""

from itertools import pairwise
from typing import TYPE_CHECKING

from stores.embedding.embedder import Passage

if TYPE_CHECKING:
    from stores.embedding.shipped import WordPieceTokenizer

_SENTENCE_END = frozenset(".!?…。！？")  # noqa: RUF001 - full-width marks are meant
_CLOSING = "\"')]}”’»"  # noqa: RUF001 - so are typographic quotes


def split_passages(
    text: str, tokenizer: "WordPieceTokenizer", *, limit: int, characters_per_token: int | None = None
) -> list[Passage]:
    """Split a text into passages of equal size and at most `limit` tokens.

    They cover every character and end at a paragraph, line, sentence or word, if one ends nearby. With
    `characters_per_token`, long tokens count by length: a blob may be a thousand tokens to another model.
    """
    # A character is at most three tokens (a Hangul syllable, decomposed), an ASCII character at most one.
    if len(text) <= (limit if text.isascii() else limit // 3):
        return [Passage(0, len(text))]
    spans, words = _tokens(text, tokenizer, characters_per_token)
    boundaries, cuts = _Boundaries(text, spans, words), [0]
    while len(spans) - cuts[-1] > limit:
        cuts.append(_next_cut(boundaries, cuts[-1], limit))
    edges = [0, *(spans[cut][0] for cut in cuts[1:]), len(text)]
    return [Passage(start, end) for start, end in pairwise(edges)]


def _tokens(
    text: str, tokenizer: "WordPieceTokenizer", characters_per_token: int | None
) -> tuple[list[tuple[int, int]], list[int]]:
    pieces = tokenizer.pieces(text)
    if characters_per_token is None or all(end - start <= 4 * characters_per_token for start, end in pieces.spans):
        return pieces.spans, pieces.words
    spans: list[tuple[int, int]] = []
    words: list[int] = []
    for (start, end), word in zip(pieces.spans, pieces.words, strict=True):
        size = characters_per_token if end - start > 4 * characters_per_token else end - start
        spans.extend((at, min(at + size, end)) for at in range(start, end, max(size, 1)))
        words.extend([word] * (len(spans) - len(words)))
    return spans, words


class _Boundaries:
    def __init__(self, text: str, spans: list[tuple[int, int]], words: list[int]) -> None:
        self._text, self._spans, self._words = text, spans, words

    def __len__(self) -> int:
        return len(self._spans)

    def rank(self, token: int) -> int:
        if self._words[token] == self._words[token - 1]:
            return -1
        end, start = self._spans[token - 1][1], self._spans[token][0]
        gap = self._text[end:start]
        if not gap:
            return 0
        newlines = gap.count("\n")
        if newlines:
            return 4 if newlines > 1 else 3
        before = self._text[max(end - 3, 0) : end].rstrip(_CLOSING)
        return 2 if before[-1:] in _SENTENCE_END else 1


def _next_cut(boundaries: _Boundaries, begin: int, limit: int) -> int:
    remaining = len(boundaries) - begin
    ideal = -(-remaining // -(-remaining // limit))
    near = range(begin + ideal - ideal // 4, begin + min(limit, ideal + ideal // 4) + 1)
    best = max(near, key=lambda token: (boundaries.rank(token), -abs(token - begin - ideal)))
    if boundaries.rank(best) >= 0:
        return best
    whole = range(begin + limit, begin, -1)
    return next((token for token in whole if boundaries.rank(token) >= 0), begin + limit)
