"""Model files of the package, verified by SHA-256, their tokenizer (Devlin et al. 2019, uncased), and passages."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from stores.embedding.embedder import EmbeddingFailed, Passage

if TYPE_CHECKING:
    from tokenizers import Encoding

MODEL_FILE = "all-MiniLM-L6-v2-int8.onnx"
LATE_MODEL_FILE = "answerai-colbert-small-v1-int8-128.onnx"
VOCABULARY_FILE = "vocab.txt"
SHA256 = {
    MODEL_FILE: "c91ee36db29a3a26ee245cde43beaef9d07fe12f04e25faadade25d5f6849405",
    LATE_MODEL_FILE: "7f05bfcf55be2fce0b4f24c6a793f1edb0b78d0cc218ec3d38329b84fe298b04",
    VOCABULARY_FILE: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
PASSAGE_TOKENS = 254
"""The model reads 256, with two special ones."""

_LONGEST_WORD = 100
_CHARACTERS_READ = 64 * PASSAGE_TOKENS
# Blocks of up to 4,000 characters, cut at a space if possible, tokenize faster and in little memory.
_BLOCK = re.compile(r"(?s:.{1,4000}(?:\s|\Z)|.{1,4000})")
_SENTENCE_END = frozenset(".!?…。！？")  # noqa: RUF001 - full-width marks are meant
_CLOSING = "\"')]}”’»"  # noqa: RUF001 - so are typographic quotes


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token i of a text has the characters `spans[i]` and belongs to word `words[i]`."""

    text: str
    spans: list[tuple[int, int]] = field(default_factory=list)
    words: list[int] = field(default_factory=list)

    def rank(self, token: int) -> int:
        """Rate a cut before a token: -1 within a word, up to 4 between paragraphs."""
        if self.words[token] == self.words[token - 1]:
            return -1
        end, start = self.spans[token - 1][1], self.spans[token][0]
        gap = self.text[end:start]
        if not gap:
            return 0
        newlines = gap.count("\n")
        if newlines:
            return 4 if newlines > 1 else 3
        before = self.text[max(end - 3, 0) : end].rstrip(_CLOSING)
        return 2 if before[-1:] in _SENTENCE_END else 1


class WordPieceTokenizer:
    """Thread-safe."""

    def __init__(self, vocabulary: str) -> None:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers  # noqa: PLC0415 - a start does not wait for it

        ids = {token: number for number, token in enumerate(vocabulary.split("\n"))}
        self._first, self._last = ids["[CLS]"], ids["[SEP]"]
        # No token is registered as special: "[SEP]" in a text is three words and cannot forge one.
        self._tokenizer = Tokenizer(models.WordPiece(ids, max_input_chars_per_word=_LONGEST_WORD))
        self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def model_input(self, text: str) -> list[int]:
        """Return the token ids of one passage, truncated, with special tokens."""
        ids: list[int] = self._encode(text[:_CHARACTERS_READ]).ids
        return [self._first, *ids[:PASSAGE_TOKENS], self._last]

    def tokens(self, text: str) -> Tokens:
        found = Tokens(text)
        for block in _BLOCK.finditer(text):
            encoding = self._encode(block.group())
            offset, words_before = block.start(), found.words[-1] + 1 if found.words else 0
            found.spans.extend((offset + start, offset + end) for start, end in encoding.offsets)
            found.words.extend(words_before + word for word in encoding.word_ids if word is not None)
        return found

    def _encode(self, text: str) -> "Encoding":
        try:
            return self._tokenizer.encode(text)
        except TypeError:  # lone surrogates cannot be encoded in UTF-8
            return self._tokenizer.encode(text.encode("utf-8", "replace").decode())


def split_passages(
    text: str, tokenizer: WordPieceTokenizer, *, limit: int, characters_per_token: int | None = None
) -> list[Passage]:
    """Split a text into passages of equal size and at most `limit` tokens.

    They cover every character and end at a paragraph, line, sentence or word, if one ends nearby. With
    `characters_per_token`, long tokens count by length: a blob may be a thousand tokens to another model.
    """
    # A character is at most three tokens (a Hangul syllable, decomposed), an ASCII character at most one.
    if len(text) <= (limit if text.isascii() else limit // 3):
        return [Passage(0, len(text))]
    tokens, cuts = _by_length(tokenizer.tokens(text), characters_per_token), [0]
    while len(tokens.spans) - cuts[-1] > limit:
        cuts.append(_next_cut(tokens, cuts[-1], limit))
    edges = [0, *(tokens.spans[cut][0] for cut in cuts[1:]), len(text)]
    return [Passage(start, end) for start, end in pairwise(edges)]


def _by_length(tokens: Tokens, characters_per_token: int | None) -> Tokens:
    if characters_per_token is None or all(end - start <= 4 * characters_per_token for start, end in tokens.spans):
        return tokens
    cut = Tokens(tokens.text)
    for (start, end), word in zip(tokens.spans, tokens.words, strict=True):
        size = characters_per_token if end - start > 4 * characters_per_token else end - start
        cut.spans.extend((at, min(at + size, end)) for at in range(start, end, max(size, 1)))
        cut.words.extend([word] * (len(cut.spans) - len(cut.words)))
    return cut


def _next_cut(tokens: Tokens, begin: int, limit: int) -> int:
    remaining = len(tokens.spans) - begin
    ideal = -(-remaining // -(-remaining // limit))
    near = range(begin + ideal - ideal // 4, begin + min(limit, ideal + ideal // 4) + 1)
    best = max(near, key=lambda token: (tokens.rank(token), -abs(token - begin - ideal)))
    if tokens.rank(best) >= 0:
        return best
    whole = range(begin + limit, begin, -1)
    return next((token for token in whole if tokens.rank(token) >= 0), begin + limit)


@contextmanager
def shipped_file(name: str) -> Iterator[Path]:
    """Yield the path of a file of `stores/models`; EmbeddingFailed if it is missing or damaged."""
    with as_file(files("stores").joinpath("models", name)) as path:
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise _damaged(name, f"cannot be read ({error.strerror})") from error
        if digest != SHA256[name]:
            raise _damaged(name, "is not the file that this version was released with")
        yield path


@cache
def load_tokenizer() -> WordPieceTokenizer:
    """Return the shipped tokenizer (50 ms and 10 MB, once), or raise EmbeddingFailed."""
    with shipped_file(VOCABULARY_FILE) as path:
        return WordPieceTokenizer(path.read_bytes().decode())


def _damaged(name: str, what: str) -> EmbeddingFailed:
    return EmbeddingFailed(
        f"A model that ships with Engrain cannot be loaded: stores/models/{name} {what}.",
        remediation="Install engrain again.",
    )
