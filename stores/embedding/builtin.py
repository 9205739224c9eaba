"""The embedder that needs no network: all-MiniLM-L6-v2 in int8, run by onnxruntime on the CPU."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import Passage
from stores.embedding.passages import split_passages
from stores.embedding.session import OnDemand, embedder_closed, open_session
from stores.embedding.shipped import MODEL_FILE, SHA256, load_tokenizer
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
        self.tokenizer = load_tokenizer()
        self._session = open_session(MODEL_FILE)

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
        self._encoder = OnDemand(self._load)
        self._workers: ThreadPoolExecutor | None = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; texts are spread over the threads."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack(self._each(self._encoder.get().sentence, texts))

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question on the calling thread, without waiting for documents."""
        return self._encoder.get().sentence(text)

    def encode_documents(self, texts: Sequence[str]) -> list[EncodedPassage]:
        """Return each text's vector with its token states, for late interaction; it costs no second pass."""
        return self._each(self._encoder.get().passage, texts)

    def encode_query(self, text: str) -> EncodedPassage:
        """Return a question's vector with its token states."""
        return self._encoder.get().passage(text)

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages of at most 256 tokens, special ones included."""
        return split_passages(text, self._encoder.get().tokenizer, limit=PASSAGE_TOKENS)

    def close(self) -> None:
        """Stop the threads and let go of the model; what is running finishes."""
        self._encoder.close()
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.shutdown(cancel_futures=True)

    def _load(self) -> _Encoder:
        encoder = _Encoder()
        if self._threads > 1:
            self._workers = ThreadPoolExecutor(self._threads, "embedding")
        return encoder

    def _each(self, encode: Callable[[str], Result], texts: Sequence[str]) -> list[Result]:
        workers = self._workers
        if workers is None or len(texts) == 1:
            return [encode(text) for text in texts]
        try:
            return list(workers.map(encode, texts))
        except (RuntimeError, CancelledError):
            if not self._encoder.closed:
                raise
            raise embedder_closed() from None
