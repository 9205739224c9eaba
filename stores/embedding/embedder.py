"""Protocol of embedders, their specification, error and factory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from stores.errors import Unavailable

if TYPE_CHECKING:  # numpy is loaded with the first vector, not with the first import
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

BATCH = 128
"""Texts of one request to a remote server."""
Provider = Literal["builtin", "openai", "ollama", "none"]


class EmbeddingFailed(Unavailable):
    """503: the embedding model cannot be loaded, or its server did not answer as expected."""

    code = "embedding_failed"
    default_remediation = "Check the embedding settings; search by words goes on meanwhile."


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """Everything from `base_url` on is for remote providers."""

    provider: Provider = "builtin"
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimension: int | None = None
    """Requested from servers that shorten vectors; else from the first answer."""
    timeout_s: float = 30.0
    question_timeout_s: float = 3.0
    """Retries included: a search waits for it."""
    max_retries: int = 3
    requests: int = 4
    """In flight at a time, for texts of the indexes."""

    @property
    def at_once(self) -> int:
        """Texts of one round of `embed_documents`."""
        return BATCH * self.requests if self.provider in ("openai", "ollama") else 8


@dataclass(frozen=True, slots=True)
class Passage:
    """Range of characters of a text."""

    start: int
    end: int


class Embedder(Protocol):
    """Turns texts into vectors of unit length. Thread-safe."""

    @property
    def model(self) -> str:
        """Label of stored vectors; those of different labels are never compared."""

    @property
    def dimension(self) -> int:
        """A remote embedder may have to ask its server once; EmbeddingFailed if that does not answer."""

    def embed_documents(self, texts: Sequence[str]) -> "Vectors":
        """Return one row per text, each truncated to one passage; EmbeddingFailed if one is missing."""

    def embed_query(self, text: str) -> "Vectors":
        """Return the vector of a query, truncated to one passage, or raise EmbeddingFailed."""

    def split(self, text: str) -> list[Passage]: ...

    def close(self) -> None: ...


class WatchedEmbedder:
    """Records the outcome of the last call, for readiness. Thread-safe."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.state: str = "loading"
        """`loading` until a call has ended, then `ready` or `failing` by the last one."""

    @property
    def model(self) -> str:
        return self._inner.model

    @property
    def dimension(self) -> int:
        with self._watched():
            return self._inner.dimension

    def embed_documents(self, texts: Sequence[str]) -> "Vectors":
        with self._watched():
            return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> "Vectors":
        with self._watched():
            return self._inner.embed_query(text)

    def split(self, text: str) -> list[Passage]:
        return self._inner.split(text)

    def close(self) -> None:
        self._inner.close()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            self.state = "failing"
            raise
        self.state = "ready"
