"""An embedder that remembers how its last call went, so that readiness can tell without asking it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stores.embedding.embedder import Embedder, Passage

if TYPE_CHECKING:  # numpy is loaded with the first vector, not with the first import
    from stores.embedding.embedder import Vectors


class WatchedEmbedder:
    """Hands every call on. Safe to use from any thread."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.state: str = "loading"
        """`loading` until the first call has ended, then `ready` or `failing`, as the last one went."""

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._inner.model

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        with self._watched():
            return self._inner.dimension

    def embed_documents(self, texts: Sequence[str]) -> "Vectors":
        """Return one row per text."""
        with self._watched():
            return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> "Vectors":
        """Return the vector of a question."""
        with self._watched():
            return self._inner.embed_query(text)

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages that fit the model."""
        return self._inner.split(text)

    def close(self) -> None:
        """Release what the model holds."""
        self._inner.close()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except Exception:
            self.state = "failing"
            raise
        self.state = "ready"
