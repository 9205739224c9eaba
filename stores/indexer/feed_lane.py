"""Lane of an index that applies the feed as it comes: lexical and graph."""

import time
from collections.abc import Collection, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Generic

from stores.index import Index, IndexBatch
from stores.indexer.comparison import differences
from stores.indexer.feed import FeedGap, LedgerUnreadable
from stores.indexer.folders import Watermark, marker
from stores.indexer.handle import Handle, closing_on_error
from stores.indexer.lane import FOREVER, Interrupted, Lane, Surroundings, describe, log, log_refused
from stores.indexer.makers import Maker, T, Track
from stores.indexer.refusals import Admission, Refusal, Refusals, summary
from stores.indexer.status import IndexName

PREPARE_AFTER_S = 1.0


class FeedLane(Lane, Generic[T]):
    """Keeps the lexical index or the graph in step; rebuilds it beside the serving one."""

    def __init__(self, name: IndexName, maker: Maker[T], around: Surroundings) -> None:
        self.name = name
        super().__init__(around)
        self._maker = maker
        self._serving: Track[T] | None = None
        self._follows = False
        self._next: Track[T] | None = None
        self._build: Future[Track[T]] | None = None
        self._asked: str | None = None
        self._ask_again_at = 0.0
        self._first_seen: float | None = None
        self._whole_from = 0
        """Not served until it reaches this sequence number; a marker file says so."""
        self._applied_at = 0.0
        self._is_unprepared = False

    def acquire(self) -> Handle[T] | None:
        with self._lock:
            track = self._serving
            is_whole = track is not None and track.position.sequence >= self._whole_from
            return track.handle if track is not None and is_whole and track.handle.acquire() else None

    @property
    def busy(self) -> bool:
        return self._state in ("catching_up", "rebuilding")

    def differences(self) -> list[str]:
        with self._lock:
            track, follows = self._serving, self._follows
            if track is None or not follows or not track.handle.acquire():
                return self._why_absent()
        try:
            return [*track.refusals.sentences(), *self._differences(track)]
        finally:
            track.handle.release()

    def _differences(self, track: Track[T]) -> list[str]:
        around, after = self._around, track.position.sequence
        return differences(around.ledger, around.organization_id, track.handle.index, after, track.refusals.book)

    def _step(self) -> float:
        self._raise_reported()
        if self._asked_to_rebuild():
            self._asked, self._ask_again_at = "on request", 0.0
        if self._serving is None and self._build is None and self._next is None and self._asked is None:
            return self._open()
        return min(self._advance_build(), self._advance_serving())

    def _advance_serving(self) -> float:
        if self._serving is None or not self._follows:
            return FOREVER
        try:
            delay = self._advance(self._serving)
        except FeedGap as gap:
            self._lose_track(str(gap))
            return 0.0
        if delay < FOREVER:
            return delay
        self._caught_up(self._serving)
        return self._quiet(self._serving)

    def _advance_build(self) -> float:
        if self._build is not None and not self._build.done():
            return FOREVER
        try:
            if self._build is not None:
                build, self._build = self._build, None
                self._next = build.result()
            return self._catch_up(self._next) if self._next is not None else self._begin_build()
        except (Interrupted, LedgerUnreadable):
            raise
        except Exception as error:  # noqa: BLE001  # what serves goes on serving
            self._put_off(error)
            return 0.0

    def _begin_build(self) -> float:
        pause = self._ask_again_at - time.monotonic()
        if self._asked is None:
            return FOREVER
        if pause > 0:
            return pause
        reason, self._asked = self._asked, None
        log.info("index_rebuild", organization_id=self._around.organization_id, index=self.name, reason=reason)
        self._set("rebuilding", reason)
        self._build = self._around.builders.submit(self._built, self._around.files.fresh(self.name))
        self._build.add_done_callback(lambda _: self.wake())
        self._around.progressed()
        return FOREVER

    def _put_off(self, error: Exception) -> None:
        successor, self._next = self._next, None
        if successor is not None:
            successor.handle.retire()
        self._failures += 1
        self._ask_again_at = time.monotonic() + self._around.options.pause_s(self._failures)
        self._asked = "the last rebuild failed"
        self._log_failure(error)
        self._answer(error)
        if not self._follows:
            self._set("failed", describe(error))
        self._around.files.sweep(self.name, [self._serving.handle.folder] if self._serving is not None else [])
        self._around.progressed()

    def _lose_track(self, reason: str) -> None:
        with self._lock:
            self._follows = False
        self._asked = reason

    def _open(self) -> float:
        around, files = self._around, self._around.files
        self._wait_for_readers()
        folder = files.current(self.name)
        if folder is None and around.feed.reaches_back(around.options.replay_at_most):
            folder = files.fresh(self.name)
            files.point(self.name, folder)
        files.sweep(self.name, [folder] if folder else [], damaged=False)
        if folder is None:
            self._asked = "it is missing"
        else:
            self._adopt_folder(folder)
        self._settle()
        around.progressed()
        return 0.0

    def _settle(self) -> None:
        track = self._serving
        if track is None or track.position.sequence >= self._whole_from:
            if track is not None and self._whole_from:
                marker(track.handle.folder).unlink(missing_ok=True)
                self._whole_from = 0
            self._settled.set()

    def _adopt_folder(self, folder: Path) -> None:
        self._set("catching_up")
        try:
            track = self._opened(folder, clean=self._around.clean and not self._failures)
        except (OSError, LedgerUnreadable):
            raise  # The files may be whole.
        except Exception as error:  # noqa: BLE001  # engines raise anything about a damaged file
            self._log_failure(error)
            self._around.files.set_aside(self.name, folder)
            self._asked = f"it was damaged: {describe(error)}"
            return
        with closing_on_error(track.handle.index):
            objection = self._around.feed.objection(track.position)
            head = self._around.feed.head().sequence
            # New, or written by another engine or schema.
            if track.position.sequence == 0 < head:
                marker(folder).touch()
            if marker(folder).exists():
                self._whole_from = head
        with self._lock:
            self._serving, self._follows = track, objection is None
        self._erase_soon(track.handle.index.erasable)
        self._asked = objection

    def _opened(self, folder: Path, *, clean: bool) -> Track[T]:
        index = self._maker.open(folder, clean=clean)
        with closing_on_error(index):
            return self._track(index, folder)

    def _track(self, index: T, folder: Path) -> Track[T]:
        return Track(Handle(index, folder), index.position() or self._around.feed.origin(), Refusals(folder))

    def _built(self, folder: Path) -> Track[T]:
        self._check_closing()
        index = self._maker.open(folder, clean=True)
        with closing_on_error(index):
            track = self._track(index, folder)

            def admit(batch: IndexBatch) -> None:
                track.position = batch.position
                self._admit(track, batch)

            self._maker.fill(index, self._around, admit, self._check_closing)
            track.position = index.position() or track.position
            return track

    @contextmanager
    def _fresh(self) -> Iterator[Index]:
        with self._around.files.scratch() as folder:
            index = self._maker.open(folder, clean=True)
            try:
                yield index
            finally:
                index.close()

    def _admit(self, track: Track[T], batch: IndexBatch) -> None:
        index, since = track.handle.index, track.position
        unreadable = _unreadable(batch)
        # Before the position moves on.
        new = track.refusals.note(unreadable, unreadable) if unreadable else []
        refused = Admission(index, self._fresh, self._check_closing).attempt(batch, since)
        if refused is None and not track.refusals.book:
            return
        new += track.refusals.note(unreadable | dict(refused or {}), _named(batch))
        if refused is not None:
            index.apply(IndexBatch((), (), (), (), batch.position))
        for each in new:
            kind, reason = track.refusals.book[each]
            log_refused(self._around.organization_id, self.name, kind, each, reason)

    def _try_again(self, track: Track[T]) -> None:
        kinds = {each: why.kind for each, why in track.refusals.book.items()}
        self._admit(track, self._around.feed.current(kinds, track.position))
        track.refusals.put_off()
        self._done()

    def _check_closing(self) -> None:
        if self._closing.is_set():
            raise Interrupted

    def _advance(self, track: Track[T]) -> float:
        patience = self._patience(track)
        if patience > 0:
            return patience
        self._first_seen = None
        batch = self._around.feed.read(track.position)
        if batch is None:
            return FOREVER
        begin = time.monotonic()
        self._admit(track, batch)
        self._applied_at, self._is_unprepared = time.monotonic(), True
        self._took(self._applied_at - begin)
        with self._lock:
            track.position = batch.position
        self._settle()
        self._done()
        return 0.0

    def _patience(self, track: Track[T]) -> float:
        if self._next is track or not self._settled.is_set():
            return 0.0
        hurried, now = self._around.hurried(), time.monotonic()
        if not hurried and now < self._deaf_until:
            return self._deaf_until - now
        options, urgency = self._around.options, self._around.feed.urgency(track.position)
        interactive_s = options.gather_s if hurried else self._unhurried_s()
        gather_s = {"interactive": interactive_s, "deferred": options.gather_deferred_s}.get(urgency, 0.0)
        if not gather_s:
            return 0.0
        if self._first_seen is None:
            self._first_seen = now
        self._deaf_until = self._first_seen + gather_s
        return max(0.0, self._deaf_until - now)

    def _catch_up(self, track: Track[T]) -> float:
        delay = self._advance(track)
        files, old = self._around.files, self._serving
        behind = old is None or not self._follows or track.position.sequence < old.position.sequence
        if delay == 0.0 and behind:
            return 0.0
        files.point(self.name, track.handle.folder)
        with self._lock:
            self._serving, self._follows, self._next = track, True, None
            # A restored ledger may count from less.
            self._whole_from = 0
        self._applied_at, self._is_unprepared = time.monotonic(), True
        self._set("ready")
        self._verified = True
        keep = [track.handle.folder]
        if old is not None:
            old.handle.retire(lambda: files.sweep(self.name, keep))
        else:
            files.sweep(self.name, keep)
        self._answer()
        self._done()
        return 0.0

    def _caught_up(self, track: Track[T]) -> None:
        if not self._verified:
            found = self._differences(track)
            self._verified = True
            if found:
                self._asked = f"it differed from the ledger after an unclean stop: {found[0]}"
        self._trouble = ""
        if self._state == "catching_up":
            self._around.files.sweep(self.name, [track.handle.folder])
            self._set("ready")
            self._around.progressed()

    def _quiet(self, track: Track[T]) -> float:
        if track.refusals.due:
            self._try_again(track)
            return 0.0
        if self._is_unprepared:
            calm_s = PREPARE_AFTER_S - (time.monotonic() - self._applied_at)
            if calm_s > 0:
                return calm_s
            self._is_unprepared = False
            track.handle.index.prepare()
        if self._build is None and self._next is None and self._compaction_due():
            self._compact(track.handle.index.compact)
        return self._rest()

    def _release(self) -> Path | None:
        # A rebuild goes on: its result serves next.
        with self._lock:
            serving, self._serving, self._follows = self._serving, None, False
        if serving is None:
            return None
        return self._retire(serving.handle)

    def _finish(self) -> None:
        super()._finish()
        if self._build is not None:
            # It looks at `_closing` between pages. Nobody may open the folder before it has let go.
            wait([self._build])
            if not self._build.cancelled() and self._build.exception() is None:
                self._next = self._build.result()
        if self._next is not None:
            self._next.handle.retire()

    def _contains(self, sequence: int, record_ids: Collection[str]) -> bool:
        return self._follows and self._serving is not None and self._serving.position.sequence >= sequence

    def _hopeful(self) -> bool:
        return self._follows or not self._settled.is_set()

    def _recorded(self) -> Watermark | None:
        if self._serving is None or not self._follows:
            return None
        erasable = self._serving.handle.index.erasable
        return Watermark(self._serving.position.sequence, refused=len(self._refused()), erasable=erasable)

    def _watermark(self) -> int:
        return self._serving.position.sequence if self._serving is not None and self._follows else 0

    def _pending(self, head: int) -> int:
        return max(0, head - self._watermark())

    def _refused(self) -> Collection[str]:
        return [why.reason for why in self._serving.refusals.book.values()] if self._serving is not None else ()

    def _left_out(self) -> str:
        return summary(self._refused())

    def _hindrance(self) -> str:
        return "" if self._follows or not self._settled.is_set() else f"rebuilding: {self._detail}"


def _unreadable(batch: IndexBatch) -> dict[str, Refusal]:
    entities = set(batch.deleted_entities)
    return {each: Refusal("entity" if each in entities else "relation", why) for each, why in batch.unreadable.items()}


def _named(batch: IndexBatch) -> set[str]:
    named = {*batch.deleted_entities, *batch.deleted_relations}
    return named.union((each.id for each in batch.entities), (each.id for each in batch.relations))
