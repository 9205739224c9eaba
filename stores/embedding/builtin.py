"""The embedder that needs no network: all-MiniLM-L6-v2 in int8, run by onnxruntime on the CPU."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import EmbeddingFailed, Passage
from stores.embedding.passages import split_passages
from stores.embedding.shipped import MODEL_FILE, SHA256, load_tokenizer, read_shipped
from stores.embedding.wordpiece import PASSAGE_TOKENS

Vectors = NDArray[np.float32]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class EncodedPassage:
    """A passage's vector and the last hidden state of each of its tokens, the two special ones included."""

    sentence: Vectors
    tokens: Vectors
    """(tokens, dimension), not normalised."""


class _Encoder:
    """The loaded model: one text in, its vectors out, on the calling thread."""

    def __init__(self) -> None:
        # onnxruntime tells its maker over the network that it is used, and writes into the user's home, unless this is
        # set before it is loaded; its own `disable_telemetry_events` comes too late.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime  # noqa: PLC0415 - a start does not wait for it

        self.tokenizer = load_tokenizer()
        options = onnxruntime.SessionOptions()
        # One thread a text, several texts at once: splitting one text's small products over threads gains less,
        # and threads that spin while they wait take the time of everybody else's.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            read_shipped(MODEL_FILE), options, providers=["CPUExecutionProvider"]
        )

    def sentence(self, text: str) -> Vectors:
        (sentence,) = self._run(["sentence"], text)
        return sentence

    def passage(self, text: str) -> EncodedPassage:
        return EncodedPassage(*self._run(["sentence", "tokens"], text))

    def _run(self, outputs: list[str], text: str) -> Iterable[Vectors]:
        # Never two texts in one run: activations are quantised by the range of the whole batch, so a vector would
        # depend on its companions; and a batch was measured to be no faster.
        ids = np.array([self.tokenizer.model_input(text)], np.int64)
        return (output[0] for output in self._session.run(outputs, {"input_ids": ids}))


class BuiltinEmbedder:
    """MiniLM, loaded at its first use. The same text has the same vector whatever is embedded beside it."""

    model = f"all-MiniLM-L6-v2-int8@{SHA256[MODEL_FILE][:12]}"
    dimension = 384

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = threads
        self._lock = threading.Lock()
        self._encoder: _Encoder | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._closed = False

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; texts are spread over the threads."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack(self._each(self._loaded().sentence, texts))

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question on the calling thread, without waiting for documents."""
        return self._loaded().sentence(text)

    def encode_documents(self, texts: Sequence[str]) -> list[EncodedPassage]:
        """Return each text's vector with its token states, for late interaction; it costs no second pass."""
        return self._each(self._loaded().passage, texts)

    def encode_query(self, text: str) -> EncodedPassage:
        """Return a question's vector with its token states."""
        return self._loaded().passage(text)

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages of at most 256 tokens, special ones included."""
        return split_passages(text, self._loaded().tokenizer, limit=PASSAGE_TOKENS)

    def close(self) -> None:
        """Stop the threads and let go of the model; what is running finishes."""
        with self._lock:
            self._closed = True
            workers, self._workers, self._encoder = self._workers, None, None
        if workers is not None:
            workers.shutdown(cancel_futures=True)

    def _loaded(self) -> _Encoder:
        encoder = self._encoder
        if encoder is not None:
            return encoder
        with self._lock:
            if self._closed:
                raise _closed()
            if self._encoder is None:
                encoder = _Encoder()
                if self._threads > 1:
                    self._workers = ThreadPoolExecutor(self._threads, "embedding")
                self._encoder = encoder  # last: other threads look at it without the lock
            return self._encoder

    def _each(self, encode: Callable[[str], Result], texts: Sequence[str]) -> list[Result]:
        workers = self._workers
        if workers is None or len(texts) == 1:
            return [encode(text) for text in texts]
        try:
            return list(workers.map(encode, texts))
        except (RuntimeError, CancelledError):
            if not self._closed:
                raise
            raise _closed() from None


def _closed() -> EmbeddingFailed:
    return EmbeddingFailed("The embedder is closed.", remediation="The server is stopping; start it again.")
