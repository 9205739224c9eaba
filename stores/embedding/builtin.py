"""The embedder that needs no network: all-MiniLM-L6-v2 in int8, run by onnxruntime on the CPU."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import Passage
from stores.embedding.hands import Hands
from stores.embedding.passages import split_passages
from stores.embedding.session import OnDemand, open_session
from stores.embedding.shipped import MODEL_FILE, SHA256, load_tokenizer
from stores.embedding.wordpiece import PASSAGE_TOKENS

Vectors = NDArray[np.float32]


class _Encoder:
    """The loaded model: one text in, its vectors out, on the calling thread."""

    def __init__(self) -> None:
        self.tokenizer = load_tokenizer()
        self._session = open_session(MODEL_FILE)

    def sentence(self, text: str) -> Vectors:
        # Never two texts in one run: activations are quantised by the range of the whole batch, so a vector would
        # depend on its companions; and a batch was measured to be no faster.
        ids = np.array([self.tokenizer.model_input(text)], np.int64)
        (sentences,) = self._session.run(["sentence"], {"input_ids": ids})
        sentence: Vectors = sentences[0]
        return sentence


class BuiltinEmbedder:
    """MiniLM, loaded at its first use. The same text has the same vector whatever is embedded beside it."""

    model = f"all-MiniLM-L6-v2-int8@{SHA256[MODEL_FILE][:12]}"
    dimension = 384

    def __init__(self, hands: Hands | None = None) -> None:
        """With who helps to read texts; nobody does without."""
        self._encoder = OnDemand(_Encoder)
        self._hands = hands or Hands(1)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; texts are spread over those that help."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack(self._hands.each(self._encoder.get().sentence, texts))

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question on the calling thread, without waiting for documents."""
        return self._encoder.get().sentence(text)

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages of at most 256 tokens, special ones included."""
        return split_passages(text, self._encoder.get().tokenizer, limit=PASSAGE_TOKENS)

    def close(self) -> None:
        """Let go of the model; what is running finishes."""
        self._encoder.close()
