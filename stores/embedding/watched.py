"""Wrapper that records the outcome of the last call, for readiness."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stores.embedding.embedder import Embedder, Passage

if TYPE_CHECKING:  # numpy is loaded with the first vector, not with the first import
    from stores.embedding.embedder import Vectors


class WatchedEmbedder:
    """Thread-safe."""

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
