"""Model files of the package, verified by SHA-256, and their tokenizer (WordPiece: Devlin et al. 2019, uncased)."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from stores.embedding.embedder import EmbeddingFailed

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
