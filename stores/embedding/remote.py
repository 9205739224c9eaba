"""Embedder on a remote server: `POST /v1/embeddings`, which most servers offer, Ollama among them."""

import email.utils
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, JsonValue
from pydantic_core import from_json

from stores.embedding.embedder import BATCH, EmbeddingFailed, EmbeddingSpec, Passage
from stores.embedding.shipped import PASSAGE_TOKENS, load_tokenizer, split_passages
from stores.embedding.workers import Workers
from stores.errors import InvalidSetting
from stores.records import JsonObject

DEFAULT_URLS = {"openai": "https://api.openai.com/v1", "ollama": "http://127.0.0.1:11434/v1"}
LARGEST_ANSWER: Final = 64 * 1024 * 1024
LONGEST_PAUSE_S: Final = 60.0
"""A longer `Retry-After` is an error instead of a wait."""
BATCH_CHARACTERS = 200_000
QUIET_S = 5.0
"""Pause after a query timed out: the server gets no other."""

_FIRST_PAUSE_S = 0.5
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_TOO_SLOW = "Raise ENGRAIN_EMBEDDING_TIMEOUT_S, or find out why the server is slow; loading a model takes time."
_CHECK_URL = "Check that ENGRAIN_EMBEDDING_BASE_URL is the address of an embedding server."
_CHARACTERS_PER_TOKEN = 4
_LONGEST_TEXT = 4 * _CHARACTERS_PER_TOKEN * PASSAGE_TOKENS
_NO_EMBEDDINGS = "Check that ENGRAIN_EMBEDDING_MODEL is an embedding model and the server speaks this protocol."
_SLOW = "Find out why the server is slow, or raise ENGRAIN_EMBEDDING_QUESTION_TIMEOUT_S."

Vectors = NDArray[np.float32]


class _Row(BaseModel):
    embedding: list[float | None]
    index: int | None = None


class _Answer(BaseModel):
    data: list[_Row]


class _Setback(Exception):
    def __init__(self, what: str, remediation: str, *, passing: bool = False, pause_s: float | None = None) -> None:
        self.what, self.remediation, self.pause_s = what, remediation, pause_s
        self.passing = passing
        """Another try may help."""


class Endpoint:
    """Posts JSON and returns JSON. Thread-safe."""

    def __init__(self, spec: EmbeddingSpec) -> None:
        self._provider, self._model = spec.provider, spec.model
        self._timeout_s, self._max_retries = spec.timeout_s, spec.max_retries
        self._url = _address(spec)
        self._key = _key(spec)
        self._closing = threading.Event()
        self._client = httpx2.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            # Proxies are for other hosts, and a redirect would send texts and the key elsewhere.
            trust_env=self._url.host not in _LOOPBACK,
            follow_redirects=False,
        )

    def post(self, body: JsonObject, *, budget_s: float = inf) -> JsonValue:
        """Post a body, retrying for at most `budget_s`; EmbeddingFailed in the end, or when closed."""
        deadline = time.monotonic() + budget_s
        tries = 0
        while True:
            try:
                return self._answer(body, max(min(self._timeout_s, deadline - time.monotonic()), 0.001))
            except _Setback as setback:
                tries += 1
                pause_s = _pause(setback, tries)
                over = time.monotonic() + pause_s >= deadline
                if not setback.passing or tries > self._max_retries or over or pause_s > LONGEST_PAUSE_S:
                    raise self.failure(setback.what, setback.remediation, tries) from None
            self._closing.wait(pause_s)

    def failure(self, what: str, remediation: str, tries: int = 1) -> EmbeddingFailed:
        """Name the endpoint and the model; redact the key."""
        server = self._url.netloc.decode()
        often = f" ({tries} tries)" if tries > 1 else ""
        message = f"Embedding with {self._provider} model {self._model!r} at {server} failed: {what}{often}."
        return EmbeddingFailed(
            self._redacted(message),
            remediation=self._redacted(remediation),
            details={"provider": self._provider, "model": self._model, "server": server},
        )

    def close(self) -> None:
        """End pauses and connections; running calls fail."""
        self._closing.set()
        self._client.close()

    def _answer(self, body: JsonObject, limit_s: float) -> JsonValue:
        closed = _Setback("the embedder is closed", "The server is stopping; start it again.")
        if self._closing.is_set():
            raise closed
        try:
            status, retry_after, received = self._send(body, limit_s)
        except (httpx2.TimeoutException, TimeoutError):
            raise _Setback(f"no answer within {limit_s:.3g} s", _TOO_SLOW, passing=True) from None
        except RuntimeError:  # the client was closed under us
            if not self._closing.is_set():
                raise
            raise closed from None
        except httpx2.RequestError as error:
            what = f"no connection ({type(error).__name__}: {str(error)[:200]})"
            raise _Setback(what, "Start the server, or correct ENGRAIN_EMBEDDING_BASE_URL.", passing=True) from None
        if status != 200:
            raise self._refusal(status, retry_after, received)
        try:
            parsed: JsonValue = from_json(received)
        except ValueError:
            raise _Setback("the answer is not JSON", _CHECK_URL) from None
        return parsed

    def _send(self, body: JsonObject, limit_s: float) -> tuple[int, str | None, bytes]:
        ends = time.monotonic() + limit_s
        received = bytearray()
        with self._client.stream("POST", self._url, json=body, timeout=limit_s) as response:
            # The client's timeout is per chunk: a server that trickles would block us forever.
            for chunk in response.iter_bytes():
                received += chunk
                if time.monotonic() > ends:
                    raise TimeoutError
                if len(received) > LARGEST_ANSWER:
                    break
        return response.status_code, response.headers.get("Retry-After"), bytes(received)

    def _refusal(self, status: int, retry_after: str | None, body: bytes) -> _Setback:
        if status in (401, 403):  # such answers like to quote the key
            return _Setback(f"HTTP {status}, the key was refused", "Set ENGRAIN_EMBEDDING_API_KEY to a valid key.")
        # Redacted before truncation, or the beginning of the key could remain at the cut.
        words = " ".join(self._redacted(_explanation(body)).split())[:200]
        what = f"HTTP {status}: {words}" if words else f"HTTP {status}"
        if status in _RETRIED:
            pause_s = _asked_pause(retry_after)
            return _Setback(what, "Wait for the server to recover, or use another.", passing=True, pause_s=pause_s)
        if status == 404:
            pull = f"Run `ollama pull {self._model}` where Ollama runs, or set" if self._provider == "ollama" else "Set"
            return _Setback(what, f"{pull} ENGRAIN_EMBEDDING_MODEL to a model that this server offers. {_CHECK_URL}")
        return _Setback(what, f"Check the model's name and dimension. {_CHECK_URL}")

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


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
        self._workers = Workers(spec.requests)
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
        return np.concatenate(self._workers.map(self._embed, list(_batches(texts))))

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
        return split_passages(text, load_tokenizer(), limit=PASSAGE_TOKENS, characters_per_token=_CHARACTERS_PER_TOKEN)

    def close(self) -> None:
        self._endpoint.close()

    def _embed(self, texts: Sequence[str], *, budget_s: float = inf) -> Vectors:
        # Some servers refuse a batch with an empty text; lone surrogates cannot be sent.
        sent = [text[:_LONGEST_TEXT].encode("utf-8", "replace").decode() or " " for text in texts]
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

    def _checked(self, answer: JsonValue, count: int) -> NDArray[np.float64]:
        try:
            rows = _Answer.model_validate(answer).data
            found = {place if row.index is None else row.index: row.embedding for place, row in enumerate(rows)}
            vectors = np.asarray([found[place] for place in range(len(rows))], np.float64)
        except (KeyError, ValueError):
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


def _address(spec: EmbeddingSpec) -> httpx2.URL:
    base = spec.base_url or DEFAULT_URLS[spec.provider]
    try:
        url = httpx2.URL(base)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidSetting("ENGRAIN_EMBEDDING_BASE_URL is not a URL: set one like `http://127.0.0.1:8080/v1`.")
    if url.userinfo or url.query or url.fragment:  # they would be logged with the address
        raise InvalidSetting(
            "ENGRAIN_EMBEDDING_BASE_URL holds more than scheme, host, port and path:"
            " put a credential into ENGRAIN_EMBEDDING_API_KEY."
        )
    return url.copy_with(path=f"{url.path.rstrip('/') or '/v1'}/embeddings")


def _key(spec: EmbeddingSpec) -> str:
    key = (spec.api_key or "").strip()
    # The HTTP library would quote the whole key in its error.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InvalidSetting("ENGRAIN_EMBEDDING_API_KEY contains a space or a non-ASCII character: copy it again.")
    return key


def _pause(setback: _Setback, tries: int) -> float:
    if setback.pause_s is not None:
        return setback.pause_s
    longest = min(_FIRST_PAUSE_S * 2.0 ** (tries - 1), LONGEST_PAUSE_S)
    return random.uniform(longest / 2, longest)  # noqa: S311 - no secret


def _asked_pause(retry_after: str | None) -> float | None:
    if not retry_after:
        return None
    try:
        if retry_after.strip().isdecimal():
            return float(retry_after)
        return max(email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return None


def _explanation(body: bytes) -> str:
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    words = error.get("message") if isinstance(error, dict) else error
    return words if isinstance(words, str) else ""


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
