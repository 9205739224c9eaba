"""Built-in token encoder for late interaction.

MaxSim (Khattab and Zaharia, ColBERT, SIGIR 2020, section 3.3): for each query token the greatest dot product with a
passage token, summed.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stores.embedding.session import ShippedModel
from stores.embedding.shipped import LATE_MODEL_FILE, SHA256

QUESTION_MARKER: Final = 1
PASSAGE_MARKER: Final = 2
"""Unused vocabulary entries by which the model tells queries from passages."""

_DIMENSION: Final = 128
_STEPS: Final = 16
_REACH = 2.8 / _DIMENSION**0.5
# The projection gives every dimension a standard deviation of 1 / sqrt(128). Values beyond 2.8 of them (1 in 200) are
# clipped; the rest is quantised to 4 bits, and read back as the middle of its step.
_MIDDLES = ((np.arange(_STEPS) - (_STEPS - 1) / 2) * (2 * _REACH / _STEPS)).astype(np.float32)
# Lookup table from a byte to its two float32 values, stored as one 64-bit integer.
_PAIRS = np.stack([np.tile(_MIDDLES, _STEPS), np.repeat(_MIDDLES, _STEPS)], axis=1).view(np.uint64).ravel()


class LateEncoder(ShippedModel):
    """answerai-colbert-small-v1, loaded on first use; reads at most 254 tokens. Thread-safe."""

    file = LATE_MODEL_FILE
    output = "vectors"
    model = f"answerai-colbert-small-v1-int8-128@{SHA256[LATE_MODEL_FILE][:12]}"
    width = _DIMENSION // 2
    """Bytes per passage token: two 4-bit numbers each."""
    dimension = _DIMENSION

    def encode_question(self, text: str) -> NDArray[np.float32]:
        """Return unit vectors, (tokens, dimension), or raise EmbeddingFailed."""
        # No query augmentation with [MASK], as ColBERT does it: with this export it lowered recall from .79 to .40.
        return self._run(text, QUESTION_MARKER)

    def encode_passage(self, text: str) -> NDArray[np.int8]:
        """Return quantised vectors, (tokens, width), or raise EmbeddingFailed. Takes twice as long as MiniLM."""
        return packed(self._run(text, PASSAGE_MARKER))

    @property
    def at_once(self) -> int:
        return self._workers.available

    def encode_passages(self, texts: Sequence[str]) -> list[NDArray[np.int8] | None]:
        """Encode in parallel until a search arrives; None for what failed or was not begun."""
        return self._workers.map_until_search(self.encode_passage, texts)


def packed(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Quantise (tokens, dimension) to (tokens, dimension / 2) bytes."""
    steps = np.clip((vectors + _REACH) * (_STEPS / (2 * _REACH)), 0, _STEPS - 1).astype(np.uint8)
    tokens: NDArray[np.int8] = (steps[:, ::2] + _STEPS * steps[:, 1::2]).view(np.int8)
    return tokens


def unpacked(tokens: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return (tokens, dimension) of about unit length; cosines are off by about .01."""
    return np.take(_PAIRS, tokens.view(np.uint8)).view(np.float32)
