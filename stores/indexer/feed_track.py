"""Generation that applies the feed as it comes: lexical index and graph."""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from stores.graph import GraphIndex, probe
from stores.index import Index, IndexBatch
from stores.indexer.folders import Watermark, marker
from stores.indexer.options import GraphEngine, IndexName
from stores.indexer.refusals import Refusal, Refusals, admit
from stores.indexer.surroundings import Interrupted, Surroundings, describe, log, log_refused
from stores.indexer.track import FOREVER, Adapter, Handle, Track, closing_on_error
from stores.lexical import LexicalIndex
from stores.room import Room

T = TypeVar("T", bound=Index)
Row = TypeVar("Row")
Admit = Callable[[IndexBatch], None]
Load = Callable[[T, Surroundings, Admit], None]
"""Loads everything from the ledger; `admit` skips records that the index refuses."""
PREPARE_AFTER_S = 1.0


class FeedTrack(Track[T]):
    def __init__(self, name: IndexName, index: T, folder: Path, around: Surroundings, load: Load[T]) -> None:
        super().__init__(Handle(index, folder), around)
        self._name = name
        self._load = load
        self._position = index.position() or around.feed.origin()
        self._refusals = Refusals(folder)
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

        self._load(self.handle.index, self._around, admit)
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
            log_refused(self._around.organization_id, self._name, kind, each, reason)


class DamagedGraph(Exception):  # says what is wrong, not who is
    """A child process could not open the graph."""


def lexical_adapter() -> Adapter[LexicalIndex]:
    def opened(folder: Path, around: Surroundings, _clean: bool) -> FeedTrack[LexicalIndex]:
        return _track("lexical", LexicalIndex(folder), folder, around, _load_lexical)

    return Adapter("lexical", opened)


def graph_adapter(engine: GraphEngine, clock: Callable[[], datetime], room: Room) -> Adapter[GraphIndex]:
    def opened(folder: Path, around: Surroundings, clean: bool) -> FeedTrack[GraphIndex]:
        # After an unclean stop a child process tries first: opening may abort it.
        if not clean and not probe(folder, engine):
            raise DamagedGraph("The graph cannot be opened after an unclean stop.")
        return _track("graph", GraphIndex(folder, engine=engine, clock=clock, room=room), folder, around, _load_graph)

    return Adapter("graph", opened)


def _track(name: IndexName, index: T, folder: Path, around: Surroundings, load: Load[T]) -> FeedTrack[T]:
    with closing_on_error(index):
        return FeedTrack(name, index, folder, around, load)


def _load_lexical(_: LexicalIndex, around: Surroundings, admit: Admit) -> None:
    with around.ledger.feed.snapshot(around.organization_id) as snapshot:
        admit(IndexBatch((), snapshot.position))
        for page in _checked(snapshot.entities(), around):
            admit(IndexBatch.of(page, snapshot.position))


def _load_graph(index: GraphIndex, around: Surroundings, admit: Admit) -> None:
    """Load in bulk, or page by page where a record stops that."""
    with around.ledger.feed.snapshot(around.organization_id) as snapshot:
        try:
            entities, relations = snapshot.entities(), snapshot.relations()
            index.load(_checked(entities, around), _checked(relations, around), snapshot.position)
        except (Interrupted, OSError):
            raise
        except Exception as error:  # noqa: BLE001  # engines raise anything about a record
            # Not as `organization_id`: its owners read those lines, and the reason may quote what is not theirs.
            log.warning("graph_not_loaded", organization=around.organization_id, reason=describe(error))
            index.load((), (), snapshot.position)
            for entity_page in _checked(snapshot.entities(), around):
                admit(IndexBatch.of(entity_page, snapshot.position))
            for relation_page in _checked(snapshot.relations(), around):
                admit(IndexBatch.of(relation_page, snapshot.position))


def _checked(pages: Iterator[list[Row]], around: Surroundings) -> Iterator[list[Row]]:
    for page in pages:
        around.check_closing()
        yield page
