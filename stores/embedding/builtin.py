"""Models that ship with Engrain, run by onnxruntime on the CPU with one thread for each text.

Late interaction is MaxSim (Khattab and Zaharia, ColBERT, SIGIR 2020, section 3.3): for each query token the greatest
dot product with a passage token, summed.
"""

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from stores.embedding.embedder import EmbeddingFailed, Passage
from stores.embedding.shipped import (
    LATE_MODEL_FILE,
    MODEL_FILE,
    PASSAGE_TOKENS,
    SHA256,
    load_tokenizer,
    shipped_file,
    split_passages,
)
from stores.embedding.workers import Workers

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Vectors = NDArray[np.float32]

QUESTION_MARKER: Final = 1
PASSAGE_MARKER: Final = 2
"""Unused vocabulary entries by which the model tells queries from passages."""

_DIMENSION: Final = 128
_STEPS: Final = 16
_REACH = 2.8 / _DIMENSION**0.5
# The projection gives every dimension a standard deviation of 1 / sqrt(128). Values beyond 2.8 of them (1 in 200) are
# clipped; the rest is quantised to 4 bits, and read back as the middle of its step.
_MIDDLES = ((np.arange(_STEPS) - (_STEPS - 1) / 2) * (2 * _REACH / _STEPS)).astype(np.float32)
# Lookup table from a byte to its two float32 values, stored as one 64-bit integer.
_PAIRS = np.stack([np.tile(_MIDDLES, _STEPS), np.repeat(_MIDDLES, _STEPS)], axis=1).view(np.uint64).ravel()


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


class LateEncoder(ShippedModel):
    """answerai-colbert-small-v1, loaded on first use; reads at most 254 tokens. Thread-safe."""

    file = LATE_MODEL_FILE
    output = "vectors"
    model = f"answerai-colbert-small-v1-int8-128@{SHA256[LATE_MODEL_FILE][:12]}"
    width = _DIMENSION // 2
    """Bytes per passage token: two 4-bit numbers each."""
    dimension = _DIMENSION

    def encode_question(self, text: str) -> Vectors:
        """Return unit vectors, (tokens, dimension), or raise EmbeddingFailed."""
        # No query augmentation with [MASK], as ColBERT does it: with this export it lowered recall from .79 to .40.
        return self._run(text, QUESTION_MARKER)

    def encode_passage(self, text: str) -> NDArray[np.int8]:
        """Return quantised vectors, (tokens, width), or raise EmbeddingFailed. Takes twice as long as MiniLM."""
        return packed(self._run(text, PASSAGE_MARKER))

    @property
    def at_once(self) -> int:
        return self._workers.available

    def encode_passages(self, texts: Sequence[str]) -> list[NDArray[np.int8] | None]:
        """Encode in parallel until a search arrives; None for texts that failed or were not begun."""
        return self._workers.map_until_search(self.encode_passage, texts)


def packed(vectors: Vectors) -> NDArray[np.int8]:
    """Quantise (tokens, dimension) to (tokens, dimension / 2) bytes."""
    steps = np.clip((vectors + _REACH) * (_STEPS / (2 * _REACH)), 0, _STEPS - 1).astype(np.uint8)
    tokens: NDArray[np.int8] = (steps[:, ::2] + _STEPS * steps[:, 1::2]).view(np.int8)
    return tokens


def unpacked(tokens: NDArray[np.int8]) -> Vectors:
    """Return (tokens, dimension) of about unit length; cosines are off by about .01."""
    return np.take(_PAIRS, tokens.view(np.uint8)).view(np.float32)
