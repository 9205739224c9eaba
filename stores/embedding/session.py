"""Models that ship with Engrain, run by onnxruntime on the CPU with one thread for each text."""

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import EmbeddingFailed, Passage
from stores.embedding.shipped import MODEL_FILE, PASSAGE_TOKENS, SHA256, load_tokenizer, shipped_file, split_passages
from stores.embedding.workers import Workers

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Vectors = NDArray[np.float32]


def open_session(name: str) -> "InferenceSession":
    """Open a model of `stores/models`; EmbeddingFailed if the file is missing or damaged."""
    # Must be set before the import: onnxruntime sends telemetry and writes into the user's home otherwise, and its own
    # `disable_telemetry_events` comes too late.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # noqa: PLC0415 - a start does not wait for it

    options = onnxruntime.SessionOptions()
    # One thread per text and several texts at once: parallelism within a text gains less, and spinning threads take CPU
    # time from the others.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Memory patterns, cached per input length, cost a third of the throughput with several threads.
    options.enable_mem_pattern = False
    # By path: a session opened from bytes keeps them in memory beside its weights.
    with shipped_file(name) as path:
        return onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            # The fused operator takes four times as long as its parts.
            disabled_optimizers=["SkipLayerNormFusion"],
        )


class ShippedModel:
    """Loaded on first use, once. Thread-safe."""

    file: ClassVar[str]
    output: ClassVar[str]

    def __init__(self, workers: Workers | None = None) -> None:
        self._workers = workers or Workers(1)
        self._lock = threading.Lock()
        self._session: InferenceSession | None = None
        self._is_closed = False

    def split(self, text: str) -> list[Passage]:
        """Divide into passages of at most 256 tokens, special ones included."""
        return split_passages(text, load_tokenizer(), limit=PASSAGE_TOKENS)

    def close(self) -> None:
        with self._lock:
            self._is_closed, self._session = True, None

    def _run(self, text: str, *markers: int) -> Vectors:
        # One text per run: activations are quantised by the range of the whole batch, so a vector would depend on the
        # texts beside it. Batches were measured to be no faster.
        session = self._session or self._loaded()
        first, *rest = load_tokenizer().model_input(text)
        (found,) = session.run([self.output], {"input_ids": np.array([[first, *markers, *rest]], np.int64)})
        vectors: Vectors = found[0]
        return vectors

    def _loaded(self) -> "InferenceSession":
        with self._lock:
            if self._is_closed:
                raise EmbeddingFailed("The embedder is closed.", remediation="The server is stopping; start it again.")
            if self._session is None:
                self._session = open_session(self.file)
            return self._session


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
