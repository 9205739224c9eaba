"""The model files that ship with the package, checked against the digests that they were released with."""

import hashlib
from importlib.resources import files

from stores.embedding.embedder import EmbeddingFailed
from stores.embedding.wordpiece import WordPieceTokenizer

MODEL_FILE = "all-MiniLM-L6-v2-int8.onnx"
LATE_MODEL_FILE = "answerai-colbert-small-v1-int8-64.onnx"
VOCABULARY_FILE = "vocab.txt"
SHA256 = {
    MODEL_FILE: "0d0cba3b548e27b87add133a26e4a619fadae0a693a1dd6c19a4a24acf6fff20",
    LATE_MODEL_FILE: "a1925c2193fc95c22c40da8ab6fe1243299cf85aca671c8e72981fde24e42c22",
    VOCABULARY_FILE: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


def read_shipped(name: str) -> bytes:
    """Return the content of a file of `stores/models`.

    Raises:
        EmbeddingFailed: It is missing or damaged.
    """
    try:
        data = files("stores").joinpath("models", name).read_bytes()
    except OSError as error:
        raise _damaged(name, f"cannot be read ({error.strerror})") from error
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise _damaged(name, "is not the file that this version was released with")
    return data


def load_tokenizer() -> WordPieceTokenizer:
    """Return the built-in model's tokenizer; takes about 50 ms.

    Raises:
        EmbeddingFailed: The vocabulary is missing or damaged.
    """
    return WordPieceTokenizer(read_shipped(VOCABULARY_FILE).decode())


def _damaged(name: str, what: str) -> EmbeddingFailed:
    return EmbeddingFailed(
        f"The built-in embedding model cannot be loaded: stores/models/{name} {what}.",
        remediation="Install engrain again, or choose a remote embedding provider.",
    )
