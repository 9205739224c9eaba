"""Thread of one index: opens it, follows the feed, rebuilds it, fails and tries again."""

import threading
import time
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Generic

from stores.indexer.faults import Interrupted, ModelUnavailable, describe, log
from stores.indexer.feed import FeedGap, LedgerUnreadable
from stores.indexer.folders import Watermark
from stores.indexer.options import IndexStatus, State
from stores.indexer.steps import StepThread
from stores.indexer.track import FOREVER, Adapter, Handle, Rebuild, Surroundings, T, Track, closing_on_error

WAIT_FOR_READERS_S = 5.0


class Lane(StepThread, Generic[T]):
    """One index of one organization and the thread that writes it. Thread-safe."""

    def __init__(self, adapter: Adapter[T], around: Surroundings) -> None:
        super().__init__(f"{adapter.name} {around.organization_id}")
        self.name = adapter.name
        self._adapter = adapter
        self._around = replace(around, wake=self.wake, closing=self._stopping)
        self._lock = threading.Lock()
        self._settled = threading.Event()
        self._state: State = "catching_up"
        self._log = log.bind(organization_id=around.organization_id, index=adapter.name)
        self._reason = ""
        """Names the last failure."""
        self._failures = 0
        self._is_troubled = False
        """It failed at a change, and has not passed it."""
        self._retry_at = 0.0
        self._postponed = 0
        self._verified = around.clean
        self._serving: Track[T] | None = None
        self._follows = False
        self._rebuild = Rebuild(adapter, self._around)
        self._leaving: Handle[T] | None = None
        self._final: Watermark | None = None

    def wake(self) -> None:
        """Look at the feed: at once where somebody waits, else once writes have gathered."""
        # Waking at every single write would cost requests more than the write itself.
        track = self._serving
        if track is None or time.monotonic() >= track.deaf_until or self._around.waiting():
            self._signal.set()

    def wait_settled(self, timeout_s: float) -> bool:
        """Wait until the index is open or known to be unusable for now."""
        return self._settled.wait(timeout_s)

    def acquire(self) -> Handle[T] | None:
        with self._lock:
            track = self._serving
            return track.handle if track is not None and track.readable and track.handle.acquire() else None

    def rebuild(self) -> "Future[None]":
        """Rebuild the index from the ledger; the present one serves until then."""
        done = self._rebuild.request()
        self._signal.set()
        return done

    @property
    def recorded(self) -> Watermark | None:
        """Watermark on disk; None where it cannot be relied on."""
        with self._lock:
            return self._final or (self._following.recorded() if self._following is not None else None)

    @property
    def is_partial(self) -> bool:
        """Search lacks this index or part of it."""
        with self._lock:
            track = self._following
            if self._state == "failed" or track is None:
                return self._settled.is_set()
            return self._is_troubled or track.is_partial

    def status(self, head: int) -> IndexStatus:
        with self._lock:
            track, progress = self._serving, self._final or self._following
            pending = progress.pending(head) if progress is not None else head
            state = self._state
            if state in ("ready", "catching_up") and self._settled.is_set():
                state = "catching_up" if pending else "ready"
            watermark = progress.sequence if progress is not None else 0
            refused = len(track.refused()) if track is not None else 0
            return IndexStatus(self._around.organization_id, self.name, state, watermark, pending, refused)

    def contains(self, sequence: int, record_ids: Collection[str] = ()) -> bool:
        with self._lock:
            progress = self._final or self._following
            return progress is not None and progress.contains(sequence, record_ids)

    @property
    def waitable(self) -> bool:
        """Changes will get into this index by themselves."""
        with self._lock:
            hopeful = (self._follows or not self._settled.is_set()) and not self._adapter.is_stuck()
            return self._state != "failed" and (self._final is not None or hopeful)

    @property
    def busy(self) -> bool:
        with self._lock:
            return self._state in ("catching_up", "rebuilding") or (self._serving is not None and self._serving.busy)

    @property
    def tidies(self) -> bool:
        """Token vectors are missing, or deleted records are still in its files."""
        with self._lock:
            return self._following is not None and self._following.tidies

    def differences(self) -> list[str]:
        with self._lock:
            track = self._following
            if track is None or not track.handle.acquire():
                return [f"it cannot be used: {self._reason}"] if self._state == "failed" else []
        try:
            refused = sorted(track.refused().items())
            found = [f"{why.kind} {each} cannot be {track.verb}: {why.reason}" for each, why in refused]
            return found + track.differences()
        finally:
            track.handle.release()

    @property
    def _following(self) -> Track[T] | None:
        return self._serving if self._follows else None

    def _run(self) -> None:
        super()._run()
        self._finish()

    def _step(self) -> float:
        try:
            wait_s = self._retry_at - time.monotonic()
            if wait_s > 0:
                return wait_s
            delay = self._proceed()
            self._postponed = 0
            return delay
        except Interrupted:
            return 0.0
        except LedgerUnreadable as error:
            return self._postpone(str(error))
        except ModelUnavailable as error:
            self._release()
            self._give_up(error)
            return self._postpone(str(error))
        except BaseException as error:  # noqa: BLE001  # the thread's edge: no panic may end it in silence
            self._fail(error)
            return 0.0

    def _proceed(self) -> float:
        is_closed = self._serving is None and not self._rebuild.runs
        if is_closed and (not self._rebuild.due or self._adapter.in_place):
            self._open()
        delay = min(self._advance_rebuild(), self._advance_serving())
        deaf_s = self._serving.deaf_until - time.monotonic() if self._serving is not None else 0.0
        return min(delay, deaf_s) if deaf_s > 0 else delay

    def _open(self) -> None:
        around, files = self._around, self._around.files
        if self._leaving is not None and not self._leaving.wait_closed(WAIT_FOR_READERS_S):
            raise TimeoutError("Searches still hold the index that failed.")
        folder = files.current(self.name)
        is_recent = folder is None and around.feed.reaches_back(around.options.replay_at_most)
        if folder is None and (is_recent or self._adapter.in_place):
            folder = files.start(self.name, incomplete=bool(self._failures) or not is_recent)
        files.sweep(self.name, [folder] if folder else [])
        if folder is None:
            self._rebuild.due = "it is missing"
        else:
            self._adopt(folder)
        self._settle()
        around.progressed()

    def _adopt(self, folder: Path) -> None:
        try:
            track = self._adapter.open(folder, self._around, self._verified and not self._failures)
        except (OSError, LedgerUnreadable, ModelUnavailable):
            raise  # The files may be whole.
        except Exception:
            self._around.files.abandon(self.name)
            raise
        with closing_on_error(track.handle.index):
            objection = track.objection()
        self._set("rebuilding" if track.refilling else "catching_up")
        self._rebuild.due = objection or self._rebuild.due
        track.serves = True
        with self._lock:
            self._serving, self._follows = track, objection is None

    def _settle(self) -> None:
        if self._serving is None or self._serving.readable:
            self._settled.set()

    def _advance_serving(self) -> float:
        track = self._following
        if track is None:
            return FOREVER
        try:
            delay = track.advance()
        except FeedGap as gap:
            self._log.info("feed_gap", reason=str(gap))
            if self._adapter.in_place:
                self._release()  # It finds missing changes when it is opened.
            else:
                self._follows, self._rebuild.due = False, str(gap)
            return 0.0
        self._end_refill(track)
        if delay == FOREVER:
            self._caught_up(track)
            delay = track.quiet()
            if track.is_worn and not self._rebuild.runs:
                self._rebuild.due, track.is_worn, delay = "much of it is dead", False, 0.0
        if delay == 0.0:
            self._progressed()
        return delay

    def _end_refill(self, track: Track[T]) -> None:
        if self._adapter.in_place and self._state == "rebuilding" and not track.refilling:
            self._set("catching_up")
            self._rebuild.answer()
            self._around.progressed()

    def _caught_up(self, track: Track[T]) -> None:
        if not self._verified:
            found = [] if self._adapter.in_place else track.differences()
            self._verified = True
            if found:
                self._rebuild.due = f"it differed from the ledger after an unclean stop: {found[0]}"
        self._is_troubled = False
        if self._state == "catching_up":
            self._around.files.sweep(self.name, [track.handle.folder])
            self._set("ready")
            self._around.progressed()

    def _progressed(self) -> None:
        self._settle()
        self._failures, self._is_troubled = 0, False
        self._around.progressed()

    def _advance_rebuild(self) -> float:
        rebuild = self._rebuild
        if rebuild.is_building:
            return FOREVER
        try:
            rebuild.take_built()
            return self._begin_rebuild() if rebuild.successor is None else self._catch_up(rebuild.successor)
        except Interrupted:
            raise
        except Exception as error:
            if isinstance(error, LedgerUnreadable) and rebuild.successor is not None:
                raise
            self._put_off(error)  # What serves goes on serving.
            return 0.0

    def _begin_rebuild(self) -> float:
        rebuild = self._rebuild
        if not rebuild.due or rebuild.pause_s > 0:
            return rebuild.pause_s if rebuild.due else FOREVER
        reason, rebuild.due = rebuild.due, ""
        self._log.info("index_rebuild", reason=reason)
        if self._adapter.in_place and self._serving is not None:
            self._serving.fill()
            self._set("rebuilding")
            return 0.0
        self._set("rebuilding")
        rebuild.begin()
        self._around.progressed()
        return FOREVER

    def _catch_up(self, track: Track[T]) -> float:
        delay, files, old = track.advance(), self._around.files, self._serving
        if delay == 0.0 and (old is None or not self._follows or track.sequence < old.sequence):
            self._progressed()
            return 0.0
        files.point(self.name, track.handle.folder)
        track.serves = True
        with self._lock:
            self._serving, self._follows, self._rebuild.successor = track, True, None
        self._set("ready")
        self._verified = True
        if old is not None:
            old.retire(lambda: files.sweep(self.name, [track.handle.folder]))
        else:
            files.sweep(self.name, [track.handle.folder])
        self._rebuild.answer()
        self._progressed()
        return 0.0

    def _put_off(self, error: Exception) -> None:
        self._failures += 1
        self._log_failure(error)
        self._rebuild.put_off(error, self._around.options.pause_s(self._failures))
        if not self._follows:
            self._reason = describe(error)
            self._set("failed")
        self._around.files.sweep(self.name, [self._serving.handle.folder] if self._serving is not None else [])
        self._around.progressed()

    def _postpone(self, reason: str) -> float:
        if not self._postponed:
            self._log.warning("index_waits", detail=reason)
        self._postponed += 1
        return self._around.options.pause_s(self._postponed)

    def _fail(self, error: BaseException) -> None:
        self._failures += 1
        self._retry_at = time.monotonic() + self._around.options.pause_s(self._failures)
        self._log_failure(error)
        if self._release() and self._failures > 1:
            self._around.files.abandon(self.name)
        self._is_troubled = True
        self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        self._reason = describe(error)
        self._set("failed")
        self._settled.set()
        self._around.progressed()

    def _log_failure(self, error: BaseException) -> None:
        self._log.error("index_failed", failures=self._failures, exc_info=error)

    def _release(self) -> bool:
        # A rebuild beside it goes on: its result serves next.
        with self._lock:
            track, self._serving, self._follows = self._serving, None, False
        if track is None:
            return False
        self._leaving = track.handle
        try:
            track.retire()
        except Exception:  # noqa: BLE001  # closing a broken index may fail, too
            self._log.exception("index_not_closed")
        track.handle.wait_closed(WAIT_FOR_READERS_S)
        return True

    def _finish(self) -> None:
        self._settled.set()
        track, final = self._following, None
        if track is not None:
            try:
                final = track.finish()
            except Exception as error:  # noqa: BLE001  # the feed brings it again
                self._log_failure(error)
                final = track.recorded()
        with self._lock:
            self._final = final
        self._release()
        self._rebuild.end()

    def _set(self, state: State) -> None:
        with self._lock:
            self._state = state
