"""Built-in embedder: all-MiniLM-L6-v2 in int8, run by onnxruntime on the CPU."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import Passage
from stores.embedding.passages import split_passages
from stores.embedding.session import OnDemand, open_session
from stores.embedding.shipped import MODEL_FILE, SHA256, load_tokenizer
from stores.embedding.wordpiece import PASSAGE_TOKENS
from stores.embedding.workers import Workers

Vectors = NDArray[np.float32]


class _Encoder:
    def __init__(self) -> None:
        self.tokenizer = load_tokenizer()
        self._session = open_session(MODEL_FILE)

    def sentence(self, text: str) -> Vectors:
        # One text per run: activations are quantised by the range of the whole batch, so a vector would depend on the
        # texts beside it. Batches were measured to be no faster.
        ids = np.array([self.tokenizer.model_input(text)], np.int64)
        (sentences,) = self._session.run(["sentence"], {"input_ids": ids})
        sentence: Vectors = sentences[0]
        return sentence


class BuiltinEmbedder:
    """MiniLM, loaded on first use. A vector does not depend on the other texts."""

    model = f"all-MiniLM-L6-v2-int8@{SHA256[MODEL_FILE][:12]}"
    dimension = 384

    def __init__(self, workers: Workers | None = None) -> None:
        self._encoder = OnDemand(_Encoder)
        self._workers = workers or Workers(1)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack(self._workers.map(self._encoder.get().sentence, texts))

    def embed_query(self, text: str) -> Vectors:
        """Embed a query on the calling thread, without waiting for documents."""
        return self._encoder.get().sentence(text)

    def split(self, text: str) -> list[Passage]:
        """Divide into passages of at most 256 tokens, special ones included."""
        return split_passages(text, self._encoder.get().tokenizer, limit=PASSAGE_TOKENS)

    def close(self) -> None:
        self._encoder.close()
