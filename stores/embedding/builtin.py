"""Built-in embedder: all-MiniLM-L6-v2 in int8, run by onnxruntime on the CPU."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stores.embedding.session import ShippedModel
from stores.embedding.shipped import MODEL_FILE, SHA256

Vectors = NDArray[np.float32]


class BuiltinEmbedder(ShippedModel):
    """MiniLM. A vector does not depend on the other texts."""

    file = MODEL_FILE
    output = "sentence"
    model = f"all-MiniLM-L6-v2-int8@{SHA256[MODEL_FILE][:12]}"
    dimension = 384

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack(self._workers.map(self._run, texts))

    def embed_query(self, text: str) -> Vectors:
        """Embed a query on the calling thread, without waiting for documents."""
        return self._run(text)
