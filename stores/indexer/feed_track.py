"""Generation that applies the feed as it comes: lexical index and graph."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, TypeVar

from stores.graph import GraphIndex, probe
from stores.index import Index, IndexBatch
from stores.indexer.faults import Interrupted, Refusal, Refusals, admit, describe, log, log_refused
from stores.indexer.feed import reading
from stores.indexer.folders import Watermark, marker
from stores.indexer.options import GraphEngine, IndexName
from stores.indexer.track import FOREVER, Adapter, Handle, Surroundings, Track, closing_on_error
from stores.ledger.feed import Snapshot
from stores.lexical import LexicalIndex
from stores.records import Change, Entity, Position, Relation
from stores.room import Room

T = TypeVar("T", bound=Index)
Row = TypeVar("Row", Entity, Relation)
PREPARE_AFTER_S = 1.0


class FeedTrack(Track[T]):
    name: ClassVar[IndexName]

    def __init__(self, index: T, folder: Path, around: Surroundings) -> None:
        super().__init__(Handle(index, folder), around)
        self._position = index.position() or around.feed.origin()
        self._refusals = Refusals(folder)
        self._first_seen = 0.0
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
        if self.sequence >= self._around.head():
            return FOREVER
        deaf_s = self.deaf_until - time.monotonic()
        if deaf_s > 0 and not self._around.waiting():
            return deaf_s
        changes = self._around.feed.changes(self._position)
        patience = self._patience(changes) if changes else FOREVER
        if patience > 0:
            return patience
        self._first_seen = 0.0
        batch = self._around.feed.batch(self._position, changes)
        begin = time.monotonic()
        self._admit(batch)
        self._note_applied()
        self._commit_s = self._applied_at - begin
        self._position = batch.position
        self._note_whole()
        self._worked()
        return 0.0

    def fill(self) -> None:
        with self._around.ledger.feed.snapshot(self._around.organization_id) as snapshot:
            self._load(snapshot)
        self._position = self.handle.index.position() or self._position
        self._note_applied()

    @abstractmethod
    def _load(self, snapshot: Snapshot) -> None: ...

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

    def _patience(self, changes: Sequence[Change]) -> float:
        options, now = self._around.options, time.monotonic()
        if not self.serves or not self.readable or len(changes) >= options.batch_changes:
            return 0.0
        is_bulk = all(each.deferred for each in changes)
        gather_s = options.gather_deferred_s if is_bulk else self._gather_s(options.gather_s)
        self._first_seen = self._first_seen or now
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
            log_refused(self._around.organization_id, self.name, kind, each, reason)

    def _admit_pages(self, pages: Iterator[list[Row]], position: Position) -> None:
        for page in self._checked(pages):
            self._position = position
            self._admit(IndexBatch.of(page, position))

    def _checked(self, pages: Iterator[list[Row]]) -> Iterator[list[Row]]:
        for page in pages:
            self._around.check_closing()
            yield page


class LexicalTrack(FeedTrack[LexicalIndex]):
    name = "lexical"

    def _load(self, snapshot: Snapshot) -> None:
        self._admit_pages(snapshot.entities(), snapshot.position)


class GraphTrack(FeedTrack[GraphIndex]):
    name = "graph"

    def _load(self, snapshot: Snapshot) -> None:
        """Load in bulk, or page by page where a record stops that."""
        index = self.handle.index
        try:
            index.load(self._checked(snapshot.entities()), self._checked(snapshot.relations()), snapshot.position)
        except (Interrupted, OSError):
            raise
        except Exception as error:  # noqa: BLE001  # engines raise anything about a record
            # Not as `organization_id`: its owners read those lines, and the reason may quote data of others.
            log.warning("graph_not_loaded", organization=self._around.organization_id, reason=describe(error))
            index.load((), (), snapshot.position)
            self._admit_pages(snapshot.entities(), snapshot.position)
            self._admit_pages(snapshot.relations(), snapshot.position)

    def differences(self) -> list[str]:
        """Relations of awaited entities are awaited, too."""
        ledger, organization_id, awaited = self._around.ledger, self._around.organization_id, self.awaited()
        found, held = super().differences(), self.handle.index.relation_ids()
        with reading():
            facts = ledger.relations.relation_ids(organization_id)
            ignored = self._on_the_way().union(awaited)
            missing = ledger.relations.by_ids(organization_id, list(facts - held if awaited else ()))
        ignored |= {each.id for each in missing.values() if each.source_id in awaited or each.target_id in awaited}
        found += [f"relation {each} is missing" for each in sorted(facts - held - ignored)]
        return found + [f"relation {each} is not in the ledger" for each in sorted(held - facts - ignored)]


class DamagedGraph(Exception):  # says what is wrong, not who is
    """A child process could not open the graph."""


def lexical_adapter() -> Adapter[LexicalIndex]:
    def opened(folder: Path, around: Surroundings, _clean: bool) -> LexicalTrack:
        index = LexicalIndex(folder)
        with closing_on_error(index):
            return LexicalTrack(index, folder, around)

    return Adapter("lexical", opened)


def graph_adapter(engine: GraphEngine, clock: Callable[[], datetime], room: Room) -> Adapter[GraphIndex]:
    def opened(folder: Path, around: Surroundings, clean: bool) -> GraphTrack:
        # After an unclean stop a child process tries first: opening may abort it.
        if not clean and not probe(folder, engine):
            raise DamagedGraph("The graph cannot be opened after an unclean stop.")
        index = GraphIndex(folder, engine=engine, clock=clock, room=room)
        with closing_on_error(index):
            return GraphTrack(index, folder, around)

    return Adapter("graph", opened)
