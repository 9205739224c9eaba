"""Text to WordPiece tokens (Devlin et al. 2019, uncased), as MiniLM was trained on, with where each token stands."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding

PASSAGE_TOKENS = 254
"""The model reads 256 tokens; two of them are special."""

_LONGEST_WORD = 100
_CHARACTERS_READ = 64 * PASSAGE_TOKENS
# Up to 4,000 characters, up to a space where there is one: small blocks tokenize faster and in little memory.
_BLOCK = re.compile(r"(?s:.{1,4000}(?:\s|\Z)|.{1,4000})")


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tokens of a text without special ones: token i is the characters `spans[i]`, a part of word `words[i]`."""

    spans: list[tuple[int, int]]
    words: list[int]


class WordPieceTokenizer:
    """The vocabulary, ready to use from any thread."""

    def __init__(self, vocabulary: str) -> None:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers  # noqa: PLC0415 - a start does not wait for it

        ids = {token: number for number, token in enumerate(vocabulary.split("\n"))}
        self._first, self._last = ids["[CLS]"], ids["[SEP]"]
        # No token is registered as special, so a text that says "[SEP]" is three words and cannot forge one.
        self._tokenizer = Tokenizer(models.WordPiece(ids, max_input_chars_per_word=_LONGEST_WORD))
        self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def model_input(self, text: str) -> list[int]:
        """Return the ids of one passage, special tokens included; the text's end is cut off where it is too long."""
        ids: list[int] = self._encode(text[:_CHARACTERS_READ]).ids
        return [self._first, *ids[:PASSAGE_TOKENS], self._last]

    def pieces(self, text: str) -> Pieces:
        """Return every token of a text of any length, in order."""
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
        except TypeError:  # the text holds a lone surrogate, the one thing UTF-8 cannot carry
            return self._tokenizer.encode(text.encode("utf-8", "replace").decode())
