"""Generation that applies the feed as it comes: lexical index and graph."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from stores.index import Index, IndexBatch
from stores.indexer.folders import Watermark, marker
from stores.indexer.handle import Handle, closing_on_error
from stores.indexer.refusals import Refusal, Refusals, admit
from stores.indexer.status import IndexName
from stores.indexer.surroundings import Surroundings, log_refused
from stores.indexer.track import FOREVER, Track

T = TypeVar("T", bound=Index)
Admit = Callable[[IndexBatch], None]
PREPARE_AFTER_S = 1.0


class FeedAdapter(ABC, Generic[T]):
    name: IndexName
    in_place = False
    outage = ""

    def open(self, folder: Path, around: Surroundings, *, clean: bool) -> "FeedTrack[T]":
        index = self.open_index(folder, clean=clean)
        with closing_on_error(index):
            return FeedTrack(self, Handle(index, folder), around)

    @abstractmethod
    def open_index(self, folder: Path, *, clean: bool) -> T: ...

    @abstractmethod
    def load(self, index: T, around: Surroundings, admit: Admit) -> None:
        """Load everything from the ledger; `admit` skips records that the index refuses."""


class FeedTrack(Track[T]):
    def __init__(self, adapter: FeedAdapter[T], handle: Handle[T], around: Surroundings) -> None:
        super().__init__(handle, around)
        self._adapter = adapter
        self._position = handle.index.position() or around.feed.origin()
        self._refusals = Refusals(handle.folder)
        self._first_seen: float | None = None
        self._whole_from = 0
        """Not read until it reaches this sequence number; a marker file says so."""
        self._applied_at = 0.0
        self._is_unprepared = False

    def objection(self) -> str | None:
        objection, head = self._around.feed.objection(self._position), self._around.feed.head().sequence
        # New, or written by another engine or schema.
        if self.sequence == 0 < head:
            marker(self.handle.folder).touch()
        if marker(self.handle.folder).exists():
            self._whole_from = head
            self._note_whole()
        return objection

    def advance(self) -> float:
        patience = self._patience()
        if patience > 0:
            return patience
        self._first_seen = None
        batch = self._around.feed.read(self._position)
        if batch is None:
            return FOREVER
        begin = time.monotonic()
        self._admit(batch)
        self._note_applied()
        self._commit_s = self._applied_at - begin
        self._position = batch.position
        self._note_whole()
        self._worked()
        return 0.0

    def fill(self) -> None:
        def admit(batch: IndexBatch) -> None:
            self._position = batch.position
            self._admit(batch)

        self._adapter.load(self.handle.index, self._around, admit)
        self._position = self.handle.index.position() or self._position
        self._note_applied()

    @property
    def sequence(self) -> int:
        return self._position.sequence

    def recorded(self) -> Watermark:
        return Watermark(self.sequence, refused=len(self._refusals.book), erasable=self.handle.index.erasable)

    def refused(self) -> Mapping[str, Refusal]:
        return self._refusals.book

    @property
    def readable(self) -> bool:
        return self.sequence >= self._whole_from

    def quiet(self) -> float:
        if self._is_unprepared:
            calm_s = PREPARE_AFTER_S - (time.monotonic() - self._applied_at)
            if calm_s > 0:
                return calm_s
            self._is_unprepared = False
            self.handle.index.prepare()
        return super().quiet()

    def _note_applied(self) -> None:
        self._applied_at, self._is_unprepared = time.monotonic(), True

    def _note_whole(self) -> None:
        if self._whole_from and self.readable:
            marker(self.handle.folder).unlink(missing_ok=True)
            self._whole_from = 0

    def _patience(self) -> float:
        if not self.serves or not self.readable:
            return 0.0
        hurried, now = self._around.hurried(), time.monotonic()
        if not hurried and now < self.deaf_until:
            return self.deaf_until - now
        options, urgency = self._around.options, self._around.feed.urgency(self._position)
        interactive_s = options.gather_s if hurried else self._unhurried_s()
        gather_s = {"interactive": interactive_s, "deferred": options.gather_deferred_s}.get(urgency, 0.0)
        if not gather_s:
            return 0.0
        if self._first_seen is None:
            self._first_seen = now
        self.deaf_until = self._first_seen + gather_s
        return max(0.0, self.deaf_until - now)

    def _admit(self, batch: IndexBatch) -> None:
        index, refusals = self.handle.index, self._refusals
        refused = admit(index, batch, self._position, self._around.check_closing)
        if refused is None and not refusals.book:
            return
        new = refusals.note(refused or {}, {each.id for each in batch.items})
        if refused is not None:
            index.apply(IndexBatch((), batch.position))
        for each in new:
            kind, reason = refusals.book[each]
            log_refused(self._around.organization_id, self._adapter.name, kind, each, reason)
