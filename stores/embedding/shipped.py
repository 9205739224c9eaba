"""Model files of the package, verified by SHA-256."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from stores.embedding.embedder import EmbeddingFailed
from stores.embedding.wordpiece import WordPieceTokenizer

MODEL_FILE = "all-MiniLM-L6-v2-int8.onnx"
LATE_MODEL_FILE = "answerai-colbert-small-v1-int8-128.onnx"
VOCABULARY_FILE = "vocab.txt"
SHA256 = {
    MODEL_FILE: "c91ee36db29a3a26ee245cde43beaef9d07fe12f04e25faadade25d5f6849405",
    LATE_MODEL_FILE: "7f05bfcf55be2fce0b4f24c6a793f1edb0b78d0cc218ec3d38329b84fe298b04",
    VOCABULARY_FILE: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


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
