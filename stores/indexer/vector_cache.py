"""Caches of vectors by text: a change of metadata costs no embedding."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING

from stores.tokens import Tokens

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


class TokenCache:
    """LRU cache of token vectors by text. Not thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._kept: OrderedDict[bytes, Tokens] = OrderedDict()
        self._filled: dict[bytes, Tokens] = {}
        self.encodings = 0
        """Passages that `encoded` did not find."""

    def fill(self, texts: Sequence[str], encode: Callable[[list[str]], list[Tokens | None]]) -> None:
        """Encode missing passages in parallel, for the next calls of `encoded`."""
        missing = {key: text for text in texts if (key := digest_of(text)) not in self._kept}
        with suppress(Exception):
            found = zip(missing, encode(list(missing.values())), strict=True)
            self._filled = {key: vectors for key, vectors in found if vectors is not None}

    def encoded(self, text: str, encode: Callable[[str], Tokens]) -> Tokens:
        key = digest_of(text)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        found = self._filled.pop(key, None)
        if found is None:
            self.encodings += 1
            found = encode(text)
        self._kept[key] = found
        self._size += found.nbytes
        while self._size > self._limit:
            self._size -= self._kept.popitem(last=False)[1].nbytes
        return found


def digest_of(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
