"""The one thread that embeds: turns of a few passages, one organization after the other, interactive writes first.

Tokens that somebody waits for come after single writes and before bulk writes, and take every other turn where there
are many of either: no organization's texts keep another one's tokens waiting, and none's tokens another one's texts.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

import structlog

from stores.embedding import Embedder
from stores.indexer.embedding_queue import EmbeddingQueue, Slice
from stores.indexer.encoding import TokenEncoder
from stores.indexer.options import IndexerOptions
from stores.indexer.token_lane import LateRider
from stores.indexer.vector_cache import TokenCache, VectorCache
from stores.processor import yield_to_others

if TYPE_CHECKING:
    from stores.embedding.embedder import Vectors

log = structlog.get_logger("indexer")


class Rider(Protocol):
    """An organization whose records wait for the model."""

    @property
    def works(self) -> EmbeddingQueue:
        """Its queues."""
        ...

    @property
    def late(self) -> LateRider:
        """What waits for token vectors."""
        ...

    def wake(self) -> None:
        """Called when records are complete, or the model failed."""
        ...


class EmbedderSource:
    """The embedder, made when it is first needed."""

    def __init__(self, given: "Embedder | Callable[[], Embedder]") -> None:
        self._given = given
        self._lock = threading.Lock()
        self._made: Embedder | None = None

    @property
    def model(self) -> str:
        """The name of the model; empty as long as it is not known without making the embedder."""
        known = self._made if callable(self._given) else self._given
        return known.model if known is not None else ""

    def get(self) -> Embedder:
        """The embedder; raises what making it raises, and tries again the next time."""
        with self._lock:
            if self._made is None:
                self._made = self._given() if callable(self._given) else self._given
            return self._made


class EmbeddingWorker:
    """Takes turns between organizations, so that no text of whatever length and no import keeps others waiting."""

    def __init__(self, source: EmbedderSource, options: IndexerOptions, late: TokenEncoder | None = None) -> None:
        self.source = source
        self.late = late
        """The model for late interaction; None where there is to be none."""
        self._late_from = 0.0
        """Until when tokens that nobody waits for are left alone."""
        self.remembered = VectorCache(options.cached_passages)
        self._tokens = TokenCache(options.cached_token_bytes)
        self._options = options
        self._signal = threading.Condition()
        self._riders: deque[Rider] = deque()
        self._token_riders: deque[Rider] = deque()
        """The same ones. In an order of their own, so that the vectors of one are not behind the tokens of another."""
        self._last: Literal["texts", "tokens", ""] = ""
        """What had the last turn; tokens only where somebody waits for them."""
        self._woken = False
        self._closing = False
        self._failures = 0
        self._not_before = 0.0
        self._rested_at: float | None = None
        self.outage = ""
        """Why the model does not embed at present; empty when it does."""
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)

    def start(self) -> None:
        """Begin to take turns."""
        self._thread.start()

    def join_in(self, rider: Rider) -> None:
        """Let an organization take part."""
        with self._signal:
            self._riders.append(rider)
            self._token_riders.append(rider)
        self.wake()

    def leave(self, rider: Rider) -> None:
        """Let an organization out; a turn of it that is running is finished."""
        with self._signal:
            self._riders = deque(each for each in self._riders if each is not rider)
            self._token_riders = deque(each for each in self._token_riders if each is not rider)

    def wake(self) -> None:
        """Look at the queues."""
        with self._signal:
            self._woken = True
            self._signal.notify()

    def stop(self, timeout_s: float) -> bool:
        """Finish the running turn; False when it is not finished by then."""
        with self._signal:
            self._closing = True
            self._signal.notify()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        yield_to_others()
        while self._wait():
            try:
                self._turn()
            except Exception:  # the thread's edge: it serves every organization
                log.exception("embedding_turn_failed")

    def _wait(self) -> bool:
        """Wait for something to do; False at the end."""
        with self._signal:
            while not self._closing:
                pause = self._not_before - time.monotonic()
                rest = None if self._rested_at is None else self._rested_at - time.monotonic()
                if pause > 0:
                    self._signal.wait(pause)
                elif self._woken or (rest is not None and rest <= 0):
                    self._woken, self._rested_at = False, None
                    return True
                else:
                    self._signal.wait(rest)
            return False

    def _turn(self) -> None:
        self._look_around()
        last, self._last = self._last, ""
        found = None
        if last != "texts":
            found = self._next(interactive=True) or (self._next(interactive=False) if last == "tokens" else None)
        if found is None and self._late_turn(hurried=True):
            self._last = "tokens"
            return
        if (found := found or self._next(interactive=True) or self._next(interactive=False)) is None:
            self._late_turn(hurried=False)
            return
        self._last = "texts"
        rider, works, slices = found
        # Whatever comes of this turn, there may be another one to take.
        self._woken = True
        if any(each.work.item.interactive for each in slices):
            self._late_from = max(self._late_from, time.monotonic() + self._options.late_after_s)
        texts = [text for each in slices for text in each.texts]
        try:
            vectors = self.source.get().embed_documents(texts)
            if len(vectors) != len(texts):
                raise ValueError(f"{len(vectors)} vectors came for {len(texts)} texts")
        except Exception as error:  # noqa: BLE001  # a remote model may fail in any way; the words go on
            self._failed(works, slices, error)
            return
        self._succeeded(rider, works, slices, vectors)

    @property
    def token_label(self) -> str:
        """Model of the token vectors; empty where there are none."""
        return "" if self.late is None else self.late.model

    def _late_turn(self, *, hurried: bool) -> bool:
        """Encode tokens of a record that somebody waits for, or else where nothing waits; tell whether it came to it.

        Searches find everything without them, and rank it a little worse.
        """
        if self.late is None:
            return False
        earliest, now = 0.0 if hurried else self._late_from, time.monotonic()
        with self._signal:
            waiting = [each for each in self._token_riders if (each.late.is_hurried if hurried else each.late)]
            rider = next((each for each in waiting if max(earliest, each.late.rests_until) <= now), None)
            if rider is None:
                due = [max(earliest, each.late.rests_until) for each in waiting]
                self._rested_at = min([*due, *([] if self._rested_at is None else [self._rested_at])], default=None)
                return False
            self._token_riders.remove(rider)
            self._token_riders.append(rider)
        self._woken = True
        try:
            rider.late.turn(self.late, self._tokens)
        except Exception as error:  # noqa: BLE001  # a damaged file of a model, a full disk
            rider.late.fail(error, self._options.retry_at_most_s)
        return True

    def _look_around(self) -> None:
        with self._signal:
            rested = [at for rider in self._riders if (at := rider.works.wake_rested()) is not None]
            self._rested_at = min(rested, default=None)
            for rider in self._riders:
                if rider.works.has_done:
                    rider.wake()

    def _next(self, *, interactive: bool) -> tuple[Rider, EmbeddingQueue, list[Slice]] | None:
        with self._signal:
            for rider in self._riders:
                works = rider.works
                if works.waiting(interactive=interactive):
                    self._riders.remove(rider)
                    self._riders.append(rider)
                    size = self._options.passages_per_turn
                    return rider, works, works.take(interactive=interactive, passages=size)
        return None

    def _succeeded(self, rider: Rider, works: EmbeddingQueue, slices: list[Slice], vectors: "Vectors") -> None:
        recovered, self._failures, self.outage = bool(self.outage), 0, ""
        if works.deliver(slices, vectors):
            rider.wake()
        if recovered:
            self._tell_all()

    def _failed(self, works: EmbeddingQueue, slices: list[Slice], error: Exception) -> None:
        """Pause, unless the record is to blame: one that failed before, by itself, now fails again."""
        if any(not each.work.failures for each in slices):
            self._failures += 1
            self._not_before = time.monotonic() + self._pause_s(self._failures)
            self.outage = f"the embedding model does not answer: {error}"
        log.warning("embedding_failed", failures=self._failures, records=len(slices), error=str(error))
        works.fail(slices, str(error), self._pause_s)
        self._tell_all()

    def _pause_s(self, failures: int) -> float:
        return min(self._options.retry_first_s * 2.0 ** min(failures - 1, 16), self._options.retry_at_most_s)

    def _tell_all(self) -> None:
        with self._signal:
            riders = list(self._riders)
        for rider in riders:
            rider.wake()
