"""An embedder that embeds each text once: tests say the same sentences again and again."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stores.embedding import Embedder, Passage

Vectors = NDArray[np.float32]


class CachingEmbedder:
    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model, self.dimension = inner.model, inner.dimension
        self._documents: dict[str, Vectors] = {}
        self._queries: dict[str, Vectors] = {}

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        missing = list(dict.fromkeys(text for text in texts if text not in self._documents))
        self._documents.update(zip(missing, self._inner.embed_documents(missing), strict=True))
        return np.stack([self._documents[text] for text in texts]) if texts else self._inner.embed_documents([])

    def embed_query(self, text: str) -> Vectors:
        if text not in self._queries:
            self._queries[text] = self._inner.embed_query(text)
        return self._queries[text].copy()

    def split(self, text: str) -> list[Passage]:
        return self._inner.split(text)

    def close(self) -> None:
        self._inner.close()
