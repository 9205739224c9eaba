"""Cache of vectors by text: a change of metadata costs no embedding."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stores.embedding.embedder import Vectors

LONGEST = 8
"""Passages; a longer text would evict hundreds of others."""


class VectorCache:
    """LRU cache of passage vectors. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()

    def recall(self, texts: Sequence[str]) -> "list[Vectors] | None":
        keys = [digest_of(text) for text in texts[: LONGEST + 1]]
        if len(keys) > LONGEST:
            return None
        with self._lock:
            if not all(key in self._kept for key in keys):
                return None
            for key in keys:
                self._kept.move_to_end(key)
            return [self._kept[key] for key in keys]

    def keep(self, texts: Sequence[str], vectors: "Sequence[Vectors]") -> None:
        if len(texts) > LONGEST:
            return
        keys = [digest_of(text) for text in texts]
        with self._lock:
            # Copies: a row of a turn's matrix would keep all of it in memory.
            self._kept.update((key, vector.copy()) for key, vector in zip(keys, vectors, strict=True))
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)


def digest_of(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
