"""The encoder for late interaction, which needs no network: a text's tokens to vectors that are compared one by one.

A question and a passage are compared by MaxSim (Khattab and Zaharia, ColBERT, SIGIR 2020, section 3.3): for each token
of the question the greatest dot product with any token of the passage, summed over the question's tokens.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import Passage
from stores.embedding.passages import split_passages
from stores.embedding.session import OnDemand, open_session
from stores.embedding.shipped import LATE_MODEL_FILE, SHA256, load_tokenizer
from stores.embedding.wordpiece import PASSAGE_TOKENS

QUESTION_MARKER: Final = 1
PASSAGE_MARKER: Final = 2
"""Ids of unused words of the vocabulary, by which the model was taught to tell questions from passages."""

_NUMBERS: Final = 128
_STEPS: Final = 16
_REACH = 2.8 / _NUMBERS**0.5
# The model turns its vectors so that each number varies alike, by 1 / sqrt(128): what lies beyond 2.8 times that, one
# in two hundred, is cut off. A number is kept as the step that it falls into, and read as the middle of that.
_MIDDLES = ((np.arange(_STEPS) - (_STEPS - 1) / 2) * (2 * _REACH / _STEPS)).astype(np.float32)
# For each byte the two numbers that it stands for, as one integer of 64 bits: looked up at once.
_PAIRS = np.stack([np.tile(_MIDDLES, _STEPS), np.repeat(_MIDDLES, _STEPS)], axis=1).view(np.uint64).ravel()


class _Encoder:
    """The loaded model: one text in, the unit vectors of its tokens out, on the calling thread."""

    def __init__(self) -> None:
        self.tokenizer = load_tokenizer()
        self._session = open_session(LATE_MODEL_FILE)

    def vectors(self, text: str, marker: int) -> NDArray[np.float32]:
        # ColBERT fills questions up with [MASK]; with this file that was measured to ruin them.
        first, *rest = self.tokenizer.model_input(text)
        (vectors,) = self._session.run(None, {"input_ids": np.array([[first, marker, *rest]], np.int64)})
        unit: NDArray[np.float32] = vectors[0]
        return unit


class LateEncoder:
    """answerai-colbert-small-v1, loaded at its first use. Every method may be called from any thread at any time.

    A text is read up to 254 tokens; `[CLS]`, a marker and `[SEP]` have vectors as well, so that no text has none.
    """

    model = f"answerai-colbert-small-v1-int8-128@{SHA256[LATE_MODEL_FILE][:12]}"
    """What vectors are recorded with: vectors of different names are never compared."""
    width = _NUMBERS // 2
    """Bytes of a passage's token, two numbers each."""
    numbers = _NUMBERS
    """Of a vector."""

    def __init__(self) -> None:
        self._encoder = OnDemand(_Encoder)

    def encode_question(self, text: str) -> NDArray[np.float32]:
        """Return one row of unit length per token, (tokens, numbers).

        Raises:
            EmbeddingFailed: The model cannot be loaded, or was closed.
        """
        return self._encoder.get().vectors(text, QUESTION_MARKER)

    def encode_passage(self, text: str) -> NDArray[np.int8]:
        """Return one row per token, (tokens, width): vectors of about unit length, as `unpacked` reads them.

        A passage takes about twice the time that `BuiltinEmbedder` takes for it.

        Raises:
            EmbeddingFailed: The model cannot be loaded, or was closed.
        """
        return packed(self._encoder.get().vectors(text, PASSAGE_MARKER))

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages that the model reads whole."""
        return split_passages(text, self._encoder.get().tokenizer, limit=PASSAGE_TOKENS)

    def close(self) -> None:
        """Let go of the model; what is running finishes."""
        self._encoder.close()


def packed(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Turn (tokens, numbers) into (tokens, numbers / 2) bytes."""
    steps = np.clip((vectors + _REACH) * (_STEPS / (2 * _REACH)), 0, _STEPS - 1).astype(np.uint8)
    tokens: NDArray[np.int8] = (steps[:, ::2] + _STEPS * steps[:, 1::2]).view(np.int8)
    return tokens


def unpacked(tokens: NDArray[np.int8]) -> NDArray[np.float32]:
    """Turn (tokens, numbers / 2) bytes into (tokens, numbers); a cosine read from them is off by some .01."""
    return np.take(_PAIRS, tokens.view(np.uint8)).view(np.float32)
