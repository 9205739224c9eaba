"""Embedding thread: micro-batches of passages, round-robin over organizations.

Order: single writes, bulk writes, token vectors.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import structlog

from stores.embedding import Embedder
from stores.indexer.embedding_queue import EmbeddingQueue, Slice
from stores.indexer.options import IndexerOptions
from stores.indexer.steps import StepThread
from stores.indexer.token_queue import TokenQueue, digest_of
from stores.indexer.track import FOREVER
from stores.processor import yield_to_others

if TYPE_CHECKING:
    from stores.embedding.builtin import LateEncoder
    from stores.embedding.embedder import Vectors

LONGEST = 8
"""Passages of a cached text; a longer one would evict hundreds of others."""

log = structlog.get_logger("indexer")


class VectorCache:
    """LRU cache of vectors by text: a change of metadata costs no embedding. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, list[Vectors]] = OrderedDict()

    def recall(self, text: str) -> "list[Vectors]":
        with self._lock:
            found = self._kept.pop(digest := digest_of(text), None)
            if found is None:
                return []
            self._kept[digest] = found
            return [*found]

    def keep(self, text: str, vectors: "Sequence[Vectors]") -> None:
        if len(vectors) <= LONGEST:
            with self._lock:
                # Copies: a row of a turn's matrix would keep all of it in memory.
                self._kept[digest_of(text)] = [vector.copy() for vector in vectors]
                while len(self._kept) > self._limit:
                    self._kept.popitem(last=False)


class Rider(NamedTuple):
    works: EmbeddingQueue
    tokens: TokenQueue
    wake: Callable[[], None]
    note_outage: Callable[[], None]


class EmbeddingWorker(StepThread):
    def __init__(self, embedder: Embedder, options: IndexerOptions, late: "LateEncoder | None" = None) -> None:
        super().__init__("embedding")
        self.embedder = embedder
        self.late = late
        self._tokens_from = 0.0
        """A single write is often followed by others: tokens wait."""
        self.remembered = VectorCache(options.cached_texts)
        self._options = options
        self._passages = options.passages_per_turn
        self._lock = threading.Lock()
        self._riders: deque[Rider] = deque()
        self._failures = 0
        self._not_before = 0.0
        self.is_out = False
        """The last turn failed."""

    def join_in(self, rider: Rider) -> None:
        with self._lock:
            self._riders.append(rider)
        self.wake()

    def leave(self, rider: Rider) -> None:
        with self._lock:
            self._riders = deque(each for each in self._riders if each is not rider)

    def _run(self) -> None:
        yield_to_others()
        super()._run()

    def _step(self) -> float:
        try:
            return self._turn()
        except Exception:  # the thread's edge: it serves every organization
            log.exception("embedding_turn_failed")
            return self._options.retry_first_s

    def _turn(self) -> float:
        now = time.monotonic()
        if now < self._not_before:
            return self._not_before - now
        rested_at = self._look_around()
        found = self._next(interactive=True) or self._next(interactive=False)
        if found is None:
            return min(rested_at, self._token_turn()) - now
        rider, slices = found
        if any(work.interactive for work, _ in slices):
            self._tokens_from = time.monotonic() + self._options.late_after_s
        # Distinct: a memory and the entity made of it have the same text.
        texts = list(dict.fromkeys(text for _, those in slices for text in those))
        begin = time.monotonic()
        try:
            vectors = self.embedder.embed_documents(texts)
            if len(vectors) != len(texts):
                raise ValueError(f"{len(vectors)} vectors came for {len(texts)} texts")
        except Exception as error:  # noqa: BLE001  # a remote model may fail in any way; the words go on
            self._failed(rider, slices, error)
            return 0.0
        self._adapt(len(texts), time.monotonic() - begin)
        self._succeeded(rider, slices, dict(zip(texts, vectors, strict=True)))
        return 0.0

    def _adapt(self, texts: int, seconds: float) -> None:
        options = self._options
        if seconds > 2 * options.quick_turn_s:
            self._passages = max(self._passages // 2, options.passages_per_turn)
        elif seconds < options.quick_turn_s and texts >= self._passages:
            self._passages = min(self._passages * 2, options.passages_at_most)

    @property
    def token_label(self) -> str:
        return "" if self.late is None else self.late.model

    def _token_turn(self) -> float:
        now = time.monotonic()
        if self.late is None:
            return now + FOREVER
        with self._lock:
            due = {rider: max(self._tokens_from, rider.tokens.rests_until) for rider in self._riders if rider.tokens}
            rider = next((each for each, at in due.items() if at <= now), None)
            if rider is None:
                return min(due.values(), default=now + FOREVER)
            self._put_last(rider)
        try:
            rider.tokens.turn(self.late)
        except Exception as error:  # noqa: BLE001  # a damaged file of a model, a full disk
            rider.tokens.fail(error, self._options.retry_at_most_s)
        return now

    def _put_last(self, rider: Rider) -> None:
        self._riders.remove(rider)
        self._riders.append(rider)

    def _look_around(self) -> float:
        with self._lock:
            rested = [at for rider in self._riders if (at := rider.works.wake_rested()) is not None]
            for rider in self._riders:
                if rider.works.calls:
                    rider.wake()
        return min(rested, default=inf)

    def _next(self, *, interactive: bool) -> tuple[Rider, list[Slice]] | None:
        with self._lock:
            for rider in self._riders:
                slices = rider.works.take(interactive=interactive, passages=self._passages)
                if slices:
                    self._put_last(rider)
                    return rider, slices
        return None

    def _succeeded(self, rider: Rider, slices: list[Slice], vectors: "Mapping[str, Vectors]") -> None:
        recovered, self._failures, self.is_out = self.is_out, 0, False
        rider.works.deliver(slices, vectors)
        if rider.works.calls:
            rider.wake()
        if recovered:
            self._tell_all()

    def _failed(self, rider: Rider, slices: list[Slice], error: Exception) -> None:
        # Each record of a failed turn is tried again alone.
        self._passages = self._options.passages_per_turn
        if any(not work.failures for work, _ in slices):
            self._failures += 1
            self._not_before = time.monotonic() + self._options.pause_s(self._failures)
            self.is_out = True
        log.warning("embedding_failed", failures=self._failures, records=len(slices), error=str(error))
        rider.works.fail(slices, str(error), self._options.pause_s)
        self._tell_all()

    def _tell_all(self) -> None:
        with self._lock:
            riders = list(self._riders)
        for rider in riders:
            rider.note_outage()
