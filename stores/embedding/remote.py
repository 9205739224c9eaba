"""Embedder on a remote server: `POST /v1/embeddings`, which most servers offer, Ollama among them."""

import threading
import time
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import BATCH, EmbeddingFailed, EmbeddingSpec, Passage
from stores.embedding.endpoint import Endpoint
from stores.embedding.shipped import PASSAGE_TOKENS, WordPieceTokenizer, load_tokenizer, split_passages
from stores.errors import InvalidSetting
from stores.records import JsonObject

BATCH_CHARACTERS = 200_000
QUIET_S = 5.0
"""Pause after a query timed out: the server gets no other."""

_CHARACTERS_PER_TOKEN = 4
_LONGEST_TEXT = 4 * _CHARACTERS_PER_TOKEN * PASSAGE_TOKENS

_NO_EMBEDDINGS = "Check that ENGRAIN_EMBEDDING_MODEL is an embedding model and the server speaks this protocol."

_SLOW = "Find out why the server is slow, or raise ENGRAIN_EMBEDDING_QUESTION_TIMEOUT_S."

Vectors = NDArray[np.float32]


class RemoteEmbedder:
    """Checks every response and normalises the vectors."""

    def __init__(self, spec: EmbeddingSpec) -> None:
        if not spec.model:
            raise InvalidSetting(f"ENGRAIN_EMBEDDING_MODEL is needed with the embedding provider {spec.provider}.")
        self._name, self._provider = spec.model, spec.provider
        self._asked_dimension = spec.dimension
        self._dimension = spec.dimension
        self._timeout_s = spec.timeout_s
        self._question_timeout_s = min(spec.question_timeout_s, spec.timeout_s)
        self._quiet_until = 0.0
        self._endpoint = Endpoint(spec)
        self._requests = spec.requests
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """Provider, model and requested dimension; not the address, which may change."""
        shortened = f"/{self._asked_dimension}" if self._asked_dimension else ""
        return f"{self._provider}:{self._name}{shortened}"

    @property
    def dimension(self) -> int:
        if self._dimension is None:
            self._embed(["dimension"], budget_s=self._timeout_s)
        assert self._dimension is not None  # noqa: S101 - an answer without rows is refused
        return self._dimension

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        batches = list(_batches(texts))
        found: dict[int, Vectors] = {}
        failures: list[Exception] = []
        numbers = iter(range(len(batches)))

        def work() -> None:
            while not failures and (number := next(numbers, None)) is not None:
                try:
                    found[number] = self._embed(batches[number])
                except Exception as error:  # noqa: BLE001 - raised on the calling thread
                    failures.append(error)

        # Daemons, unlike the threads of an executor: a server that hangs would keep this process from its end.
        helpers = [threading.Thread(target=work, daemon=True) for _ in batches[1 : self._requests]]
        for helper in helpers:
            helper.start()
        work()
        for helper in helpers:
            helper.join()
        if failures:
            raise failures[0]
        return np.concatenate([found[number] for number in range(len(batches))])

    def embed_query(self, text: str) -> Vectors:
        """Embed a query within its timeout; after one the server gets none for `QUIET_S`."""
        began = time.monotonic()
        if began < self._quiet_until:
            raise self._endpoint.failure("it kept a question waiting a moment ago", _SLOW)
        try:
            row: Vectors = self._embed([text], budget_s=self._question_timeout_s)[0]
        except EmbeddingFailed:
            if time.monotonic() - began >= self._question_timeout_s / 2:
                self._quiet_until = time.monotonic() + QUIET_S
            raise
        return row

    def split(self, text: str) -> list[Passage]:
        """Split by the built-in tokenizer; a blob counts as 4 characters per token."""
        return split_passages(text, self._tokenizer, limit=PASSAGE_TOKENS, characters_per_token=_CHARACTERS_PER_TOKEN)

    def close(self) -> None:
        self._endpoint.close()

    @cached_property
    def _tokenizer(self) -> WordPieceTokenizer:
        return load_tokenizer()

    def _embed(self, texts: Sequence[str], *, budget_s: float | None = None) -> Vectors:
        # Some servers refuse a batch with an empty text.
        sent = [_sendable(text[:_LONGEST_TEXT]) or " " for text in texts]
        # Many servers refuse `dimensions`, so it is sent only if it was set.
        shortened: JsonObject = {"dimensions": self._asked_dimension} if self._asked_dimension else {}
        answer = self._endpoint.post({"model": self._name, "input": [*sent], **shortened}, budget_s=budget_s)
        vectors = self._checked(answer, len(sent))
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise self._endpoint.failure("a vector in the answer has no direction", _NO_EMBEDDINGS)
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit

    def _checked(self, answer: JsonObject, count: int) -> NDArray[np.float64]:
        try:
            vectors = np.asarray(_in_order(answer), np.float64)
        except (KeyError, TypeError, ValueError):
            raise self._endpoint.failure("the answer has another shape", _NO_EMBEDDINGS) from None
        if vectors.ndim != 2 or vectors.shape[0] != count or not vectors.shape[1]:
            raise self._endpoint.failure(f"{count} texts got vectors of shape {vectors.shape}", _NO_EMBEDDINGS)
        if not np.isfinite(vectors).all():
            raise self._endpoint.failure("a vector in the answer is not finite", _NO_EMBEDDINGS)
        self._require_dimension(vectors.shape[1])
        return vectors

    def _require_dimension(self, found: int) -> None:
        with self._lock:
            expected = self._dimension = self._dimension or found
        if found != expected:
            raise self._endpoint.failure(
                f"vectors of {found} numbers where {expected} were expected",
                f"Set ENGRAIN_EMBEDDING_DIMENSION to {found}, or choose a model of {expected} dimensions.",
            )


def _in_order(answer: JsonObject) -> list[object]:
    rows = answer["data"]
    if not isinstance(rows, list):
        raise TypeError("data is not a list")
    found: dict[object, object] = {}
    for row in rows:
        if not isinstance(row, dict) or (index := row.get("index", len(found))) in found:
            raise TypeError("an entry of data is not an object, or is given twice")
        found[index] = row["embedding"]
    return [found[index] for index in range(len(found))]


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch, room = list[str](), BATCH_CHARACTERS
    for text in texts:
        size = min(len(text), _LONGEST_TEXT)
        if len(batch) == BATCH or size > room:
            yield batch
            batch, room = [], BATCH_CHARACTERS
        batch.append(text)
        room -= size
    yield batch


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
