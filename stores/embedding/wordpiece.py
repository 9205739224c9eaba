"""WordPiece tokenizer (Devlin et al. 2019, uncased) with character offsets."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding

PASSAGE_TOKENS = 254
"""The model reads 256, with two special ones."""

_LONGEST_WORD = 100
_CHARACTERS_READ = 64 * PASSAGE_TOKENS
# Blocks of up to 4,000 characters, cut at a space if possible, tokenize faster and in little memory.
_BLOCK = re.compile(r"(?s:.{1,4000}(?:\s|\Z)|.{1,4000})")


@dataclass(frozen=True, slots=True)
class Pieces:
    """Token i has the characters `spans[i]` and belongs to word `words[i]`."""

    spans: list[tuple[int, int]]
    words: list[int]


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

    def pieces(self, text: str) -> Pieces:
        found = Pieces([], [])
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
