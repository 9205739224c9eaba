"""Single-threaded onnxruntime sessions of the shipped models."""

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from stores.embedding.embedder import EmbeddingFailed
from stores.embedding.shipped import shipped_file

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Model = TypeVar("Model")


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


class OnDemand(Generic[Model]):
    """Lazy loading of a model, once and thread-safe."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._model: Model | None = None
        self.closed = False

    def get(self) -> Model:
        """Return the model, loading it first; EmbeddingFailed if it cannot be loaded, or was closed."""
        model = self._model
        if model is not None:
            return model
        with self._lock:
            if self.closed:
                raise EmbeddingFailed("The embedder is closed.", remediation="The server is stopping; start it again.")
            if self._model is None:
                self._model = self._load()
            return self._model

    def close(self) -> None:
        with self._lock:
            self.closed = True
            self._model = None
