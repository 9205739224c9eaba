"""Rebuild of an index beside the serving one, and those who wait for it."""

import threading
import time
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Generic

from stores.indexer.surroundings import Interrupted, Surroundings
from stores.indexer.track import Adapter, T, Track, closing_on_error


class Rebuild(Generic[T]):
    """`request` is called by any thread, everything else by the lane's."""

    def __init__(self, adapter: Adapter[T], around: Surroundings) -> None:
        self._adapter = adapter
        self._around = around
        self._lock = threading.Lock()
        self._promised: list[Future[None]] = []
        self._build: Future[Track[T]] | None = None
        self._not_before = 0.0
        self.due = ""
        """Reason of a rebuild that has not begun."""
        self.successor: Track[T] | None = None

    @property
    def runs(self) -> bool:
        return self._build is not None or self.successor is not None

    @property
    def is_building(self) -> bool:
        return self._build is not None and not self._build.done()

    @property
    def pause_s(self) -> float:
        return self._not_before - time.monotonic()

    def request(self) -> "Future[None]":
        done: Future[None] = Future()
        with self._lock:
            self._promised.append(done)
        self.due, self._not_before = "on request", 0.0
        return done

    def answer(self, error: BaseException | None = None) -> None:
        with self._lock:
            promised, self._promised = self._promised, []
        for done in promised:
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def begin(self) -> None:
        self._build = self._around.builders.submit(self._built, self._around.files.fresh(self._adapter.name))
        self._build.add_done_callback(lambda _: self._around.wake())

    def take_built(self) -> None:
        """Take over what was built, or raise what building it raised."""
        if self._build is not None:
            build, self._build = self._build, None
            self.successor = build.result()

    def put_off(self, error: Exception, pause_s: float) -> None:
        if self.successor is not None:
            self.successor.retire()
        self.successor = None
        self.due, self._not_before = "the last rebuild failed", time.monotonic() + pause_s
        self.answer(error)

    def end(self) -> None:
        self.answer(Interrupted("The organization was closed."))
        if self._build is not None:
            # It looks at `closing` between pages. Nobody may open the folder before it has let go.
            wait([self._build])
            if not self._build.cancelled() and self._build.exception() is None:
                self.take_built()
        if self.successor is not None:
            self.successor.retire()

    def _built(self, folder: Path) -> Track[T]:
        self._around.check_closing()
        track = self._adapter.open(folder, self._around, True)
        with closing_on_error(track.handle.index):
            track.fill()
            return track
