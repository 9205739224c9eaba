"""Vectors of texts embedded lately, so that a change of metadata alone costs no embedding."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from stores.tokens import Tokens

if TYPE_CHECKING:
    from stores.embedding.embedder import Vectors

AHEAD = 256
"""Passages that are kept until they are asked for, whatever else is to be remembered: some 4 MB."""
LONGEST = 8
"""Texts of more passages are not kept: one of them would push out hundreds of others."""


class VectorCache:
    """The least recently used go first. Safe to use from any thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Vectors] = OrderedDict()

    def recall(self, texts: Sequence[str]) -> "list[Vectors] | None":
        """The vectors of all these texts, or None."""
        keys = [_key(text) for text in texts[: LONGEST + 1]]
        if len(keys) > LONGEST:
            return None
        with self._lock:
            if not all(key in self._kept for key in keys):
                return None
            for key in keys:
                self._kept.move_to_end(key)
            return [self._kept[key] for key in keys]

    def keep(self, texts: Sequence[str], vectors: "Sequence[Vectors]") -> None:
        """Remember the vectors of the passages of one text."""
        if len(texts) > LONGEST:
            return
        keys = [_key(text) for text in texts]
        with self._lock:
            # Copies: a row of a turn's matrix would keep all of it in memory.
            self._kept.update((key, vector.copy()) for key, vector in zip(keys, vectors, strict=True))
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)


class TokenCache:
    """What was encoded of passages lately: the same text in several organizations is encoded once.

    The least recently used go first. Used by the embedding thread alone.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._size = 0
        self._kept: OrderedDict[bytes, Tokens] = OrderedDict()
        self._ahead: OrderedDict[bytes, Tokens] = OrderedDict()
        self.encodings = 0
        """How many passages `encoded` had to have encoded so far, or tried to."""

    def encode_ahead(self, texts: Sequence[str], encode: Callable[[list[str]], list[Tokens | None]]) -> None:
        """Have passages encoded that are asked for soon, as far as they are not known."""
        keys = {_key(text): text for text in texts}
        unknown = {key: text for key, text in keys.items() if key not in self._kept and key not in self._ahead}
        for key, found in zip(unknown, encode(list(unknown.values())), strict=True):
            if found is not None:
                self._ahead[key] = found
        while len(self._ahead) > AHEAD:
            self._ahead.popitem(last=False)

    def encoded(self, text: str, encode: Callable[[str], Tokens]) -> Tokens:
        """The vectors of a passage, encoded where they are not known."""
        key = _key(text)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        found = self._ahead.pop(key, None)
        if found is None:
            self.encodings += 1
            found = encode(text)
        self._kept[key] = found
        self._size += found.nbytes
        while self._size > self._limit:
            self._size -= self._kept.popitem(last=False)[1].nbytes
        return found


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
