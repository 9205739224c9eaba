"""The second model for meaning, which needs no network: bge-small-en in int8, asked of the best candidates alone.

It has read more of what people ask than the model that finds them, and takes twice its time for a text.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stores.embedding.session import OnDemand, open_session
from stores.embedding.shipped import SECOND_MODEL_FILE, SHA256, load_tokenizer

Sentences = NDArray[np.int8]
"""(passages, dimension): vectors of passages, as they are kept."""

_REACH: Final = 0.5
# Of a unit vector of 384 numbers few are above .3: what is beyond .5 is cut off.
_STEP: Final = _REACH / 127


class _Encoder:
    """The loaded model: one text in, its unit vector out, on the calling thread."""

    def __init__(self) -> None:
        self.tokenizer = load_tokenizer()
        self._session = open_session(SECOND_MODEL_FILE)

    def vector(self, text: str) -> NDArray[np.float32]:
        (vectors,) = self._session.run(None, {"input_ids": np.array([self.tokenizer.model_input(text)], np.int64)})
        unit: NDArray[np.float32] = vectors[0]
        return unit


class SecondModel:
    """bge-small-en, loaded at its first use. Every method may be called from any thread at any time.

    A text is read up to 254 tokens.
    """

    model = f"bge-small-en-int8@{SHA256[SECOND_MODEL_FILE][:12]}"
    """What vectors are recorded with: vectors of different names are never compared."""
    dimension = 384

    def __init__(self) -> None:
        self._encoder = OnDemand(_Encoder)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, of unit length: (dimension,).

        Raises:
            EmbeddingFailed: The model cannot be loaded, or was closed.
        """
        return self._encoder.get().vector(text)

    def embed_passage(self, text: str) -> NDArray[np.int8]:
        """Return the vector of a passage, (dimension,) bytes, as `cosines` reads them.

        Raises:
            EmbeddingFailed: The model cannot be loaded, or was closed.
        """
        steps: NDArray[np.int8] = np.clip(np.rint(self._encoder.get().vector(text) / _STEP), -127, 127).astype(np.int8)
        return steps

    def close(self) -> None:
        """Let go of the model; what is running finishes."""
        self._encoder.close()


def cosines(question: NDArray[np.float32], passages: Sentences) -> NDArray[np.float32]:
    """Tell how near passages are to a question, (passages,); off by no more than some .005."""
    near: NDArray[np.float32] = (passages.astype(np.float32) @ question) * np.float32(_STEP)
    return near
