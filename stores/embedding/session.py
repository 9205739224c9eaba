"""How a model that ships with the package is opened and kept: onnxruntime, one thread, at the first use."""

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
    """Load a file of `stores/models`.

    Raises:
        EmbeddingFailed: It is missing or damaged.
    """
    # onnxruntime tells its maker over the network that it is used, and writes into the user's home, unless this is
    # set before it is loaded; its own `disable_telemetry_events` comes too late.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # noqa: PLC0415 - a start does not wait for it

    options = onnxruntime.SessionOptions()
    # One thread a text, several texts at once: splitting one text's small products over threads gains less,
    # and threads that spin while they wait take the time of everybody else's.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # A plan of memory for each length of text that came by costs a third of what texts in several threads take.
    options.enable_mem_pattern = False
    # By its path: a session keeps the bytes that it is opened with, beside the weights that it makes of them.
    with shipped_file(name) as path:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class OnDemand(Generic[Model]):
    """A model that is loaded when it is first asked for, by whichever thread, and not after it was closed."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._model: Model | None = None
        self.closed = False

    def get(self) -> Model:
        """Return the model; the first call waits until it is loaded.

        Raises:
            EmbeddingFailed: It cannot be loaded, or was closed.
        """
        model = self._model
        if model is not None:
            return model
        with self._lock:
            if self.closed:
                raise embedder_closed()
            if self._model is None:
                self._model = self._load()
            return self._model

    def close(self) -> None:
        """Let go of the model; what is running with it finishes."""
        with self._lock:
            self.closed = True
            self._model = None


def embedder_closed() -> EmbeddingFailed:
    """Return the error of a use after closing."""
    return EmbeddingFailed("The embedder is closed.", remediation="The server is stopping; start it again.")
