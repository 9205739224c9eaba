"""Vectors of one organization: records go through the embedding worker, and are committed in groups."""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from stores.embedding import Passage
from stores.indexer.embedding_queue import READY_RECORDS, EmbeddingQueue, Work
from stores.indexer.embedding_worker import EmbeddingWorker, Rider
from stores.indexer.faults import ModelUnavailable, Refusal, describe, divide, is_of_the_machine, log, log_refused
from stores.indexer.feed import reading
from stores.indexer.folders import Watermark, marker
from stores.indexer.token_queue import TokenQueue
from stores.indexer.track import FOREVER, Adapter, Handle, Surroundings, Track, closing_on_error
from stores.records import Position
from stores.room import Room
from stores.tokens import TokenStore
from stores.vectors import EmbeddedRecord, ModelChanged, VectorIndex, VectorState

MISSING, ALL = "missing", "all"


def vector_adapter(worker: EmbeddingWorker, room: Room) -> Adapter[VectorIndex]:
    def opened(folder: Path, around: Surroundings, clean: bool) -> VectorTrack:
        """Open a generation, or a fresh one where another model made it; ModelUnavailable without the model."""
        try:
            index = _opened(folder, around, worker, room)
        except ModelChanged as change:
            log.info("embedding_model_changed", organization_id=around.organization_id, reason=str(change))
            folder = around.files.start("vectors", incomplete=True)
            around.files.sweep("vectors", [folder])
            index = _opened(folder, around, worker, room)
        with closing_on_error(index):
            return VectorTrack(Handle(index, folder), around, worker, clean=clean)

    return Adapter("vectors", opened, in_place=True, is_stuck=lambda: worker.is_out)


def _opened(folder: Path, around: Surroundings, worker: EmbeddingWorker, room: Room) -> VectorIndex:
    with _reaching_model():
        embedder = worker.embedder
        dimension = embedder.dimension
    index = VectorIndex(folder, model=embedder.model, dimension=dimension, room=room)
    late = worker.late
    if late is None:
        # Deleted records would stay in it.
        TokenStore.remove(folder)
    else:
        try:
            index.tokens = TokenStore.open(folder, model=late.model, width=late.width)
        except (sqlite3.Error, OSError) as error:
            # Search goes on without them, until the organization is opened again.
            log.warning("token_vectors_failed", organization=around.organization_id, error=describe(error))
    return index


class VectorTrack(Track[VectorIndex]):
    verb = "embedded"

    def __init__(
        self, handle: Handle[VectorIndex], around: Surroundings, worker: EmbeddingWorker, *, clean: bool
    ) -> None:
        """Compare the index with the ledger after an unclean stop."""
        super().__init__(handle, around)
        self.compact_after = around.options.compact_after_commits
        self._worker = worker
        self._buffer: list[Work] = []
        self._buffered_at = 0.0
        self._marker = marker(handle.folder)
        """Stands beside the files until all records are in them."""
        self._filling = ""
        """Mode of the refill that goes on."""
        self._stored = handle.index.state()
        head, objection = around.feed.head(), self._objection_to(self._stored)
        asked = self._marker.read_text("utf-8") or MISSING if self._marker.exists() else ""
        mode = ALL if objection else asked or ("" if clean else MISSING)
        # A refill brings at least the state of the head.
        prefix = head.sequence if mode else 0
        self._newest = 0
        if self._stored is not None and not objection:
            prefix, self._newest = self._stored.position.sequence, self._stored.newest.sequence
        self._epoch = head.epoch
        self.works = EmbeddingQueue(prefix, max(READY_RECORDS, 2 * around.options.passages_at_most))
        if mode:
            self._refill(mode)
            log.info("index_refill", organization_id=around.organization_id, index="vectors", reason=objection or mode)
        self.tokens = TokenQueue(around, handle, worker.wake)
        self._rider = Rider(self.works, self.tokens, around.wake, self._note_outage)
        worker.join_in(self._rider)

    def _note_outage(self) -> None:
        self._around.progressed()
        self._around.wake()

    def fill(self) -> None:
        self._refill(ALL)
        self.tokens.begin_again()

    def advance(self) -> float:
        self.tokens.require_sound()
        self._scan()
        self._read()
        self._collect()
        self._end_refill_if_done()
        wait = self._due_in()
        if wait > 0:
            return wait
        self._commit()
        return 0.0

    def finish(self) -> Watermark | None:
        self._worker.leave(self._rider)
        self._collect()
        if self._buffer:
            self._commit()
        self._store_progress()
        return self.recorded()

    def retire(self, then: Callable[[], None] = lambda: None) -> None:
        self._worker.leave(self._rider)
        self.tokens.let_go()
        super().retire(then)

    @property
    def sequence(self) -> int:
        return self.works.sequence

    def recorded(self) -> Watermark | None:
        if self._stored is None:
            return None
        complete = not self._filling and not self.tokens
        erasable = self.handle.index.erasable
        return Watermark(self._stored.position.sequence, complete, len(self.refused()), erasable)

    def refused(self) -> Mapping[str, Refusal]:
        failing = {} if self._worker.is_out else self.works.failing.copy()
        return {each: Refusal("entity", why) for each, why in {**self.tokens.refused, **failing}.items()}

    def pending(self, head: int) -> int:
        # A record may wait in both.
        return max(self.works.pending(head), len(self.tokens))

    def contains(self, sequence: int, record_ids: Collection[str] = ()) -> bool:
        return self.works.contains(sequence, record_ids)

    @property
    def busy(self) -> bool:
        return not self.works.idle or bool(self._buffer)

    @property
    def tidies(self) -> bool:
        return super().tidies or bool(self.tokens)

    @property
    def refilling(self) -> bool:
        return bool(self._filling)

    @property
    def is_partial(self) -> bool:
        return bool(self._filling or self.works.failing or self.tokens.refused)

    def awaited(self) -> Collection[str]:
        return self.works.awaited()

    def differences(self) -> list[str]:
        return self.tokens.differences() + super().differences()

    def _refill(self, mode: str) -> None:
        self._marker.write_text(mode, "utf-8")
        with reading():
            expected = self._around.ledger.records.revisions(self._around.organization_id)
        held = self.handle.index.contents()
        gone = [each for each in held if each not in expected]
        self.works.refill(
            gone + [each for each, revision in expected.items() if mode == ALL or held.get(each) != revision]
        )
        self._filling = mode

    def _end_refill_if_done(self) -> None:
        if not self._filling or not self.works.is_refilled:
            return
        self._store_progress()
        self._filling = ""
        if self.works.lacking:
            self._marker.write_text(MISSING, "utf-8")
        else:
            self._marker.unlink(missing_ok=True)

    def _scan(self) -> None:
        works, feed, head = self.works, self._around.feed, self._around.head
        before, scanned = works.sequence, works.scanned
        while works.scanned < head() and (changes := feed.changes(Position(self._epoch, works.scanned, ""))):
            works.scan(changes)
        if works.scanned > scanned:
            self.deaf_until = time.monotonic() + self._around.options.gather_scans_s
        if works.sequence != before:
            self._worked()
            self._around.progressed()

    def _read(self) -> None:
        while works := self.works.next_records():
            read = self._around.feed.entities([work.record_id for work in works])
            for work in works:
                if entity := read.get(work.record_id):
                    # Also records that the last run embedded before changes below them.
                    work.is_held = self._filling != ALL and self.handle.index.holds(entity)
                    if not work.is_held:
                        work.take_in(entity, self._divide)
                        work.vectors = self._worker.remembered.recall(work.text)
                self.works.add(work)
            self._worker.wake()

    def _collect(self) -> None:
        done = self.works.collect()
        if done and not self._buffer:
            self._buffered_at = time.monotonic()
        self._buffer += done
        for work in done:
            self._worker.remembered.keep(work.text, work.vectors)

    def _due_in(self) -> float:
        options = self._around.options
        if not self._buffer:
            return FOREVER
        if len(self._buffer) >= options.commit_records:
            return 0.0
        interactive = any(work.interactive for work in self._buffer)
        limit = options.commit_after_s if interactive else options.commit_deferred_after_s
        if not self.works.awaits(interactive=True) and (interactive or not self.works.awaits(interactive=False)):
            limit = self._gather_s(0.0) if interactive else 0.0
        return max(0.0, self._buffered_at + limit - time.monotonic())

    def _commit(self) -> None:
        begin = time.monotonic()
        state = self._state_with(self._buffer)
        try:
            self._write(self._buffer, state)
        except Exception as error:
            if is_of_the_machine(error):
                raise
            before = self._state_with([])
            self._leave_out(divide(_newest(self._buffer), lambda works: self._write(works, before), describe(error)))
            state = self._state_with(self._buffer)
            self._write(self._buffer, state)
        self._commit_s = time.monotonic() - begin
        done, self._buffer = self._buffer, []
        written = [work for work in done if not work.is_held]
        # Before the commit is told: nobody finds token vectors of a deleted record after it.
        gone = [work.record_id for work in written if work.entity is None]
        self.tokens.follow((work.record_id for work in written), gone)
        self.works.commit(done)
        self._stored = state
        self._end_refill_if_done()
        self._worked()

    def _write(self, works: Sequence[Work], state: VectorState) -> None:
        newest = [work for work in _newest(works) if not work.is_held]
        records = [EmbeddedRecord(work.entity, work.passages, work.vectors) for work in newest if work.entity]
        self.handle.index.replace(records, [work.record_id for work in newest if work.entity is None], state)

    def _leave_out(self, refused: Sequence[tuple[Work, str]]) -> None:
        gone = {work.record_id for work, _ in refused}
        # Remove outdated versions; an index that refuses that is damaged.
        self.handle.index.replace([], list(gone), self._state_with([]))
        self.tokens.follow([], gone)
        self._buffer = [work for work in self._buffer if work.record_id not in gone]
        for work, reason in refused:
            if self.works.refuse(work, reason):
                log_refused(self._around.organization_id, "vectors", "entity", work.record_id, reason)
        self._worker.wake()

    def _compact(self) -> None:
        self._store_progress()
        super()._compact()

    def _store_progress(self) -> None:
        state = self._state_with([])
        if state != self._stored:
            self.handle.index.replace([], [], state)
            self._stored = state

    def _state_with(self, works: Sequence[Work]) -> VectorState:
        prefix, newest = self.works.after(works)
        self._newest = max(self._newest, prefix, newest)
        position = self._around.feed.position(prefix)
        if prefix == self._newest:
            return VectorState(position, position)
        return VectorState(position, self._around.feed.position(self._newest))

    def _objection_to(self, state: VectorState | None) -> str | None:
        if state is None:
            return None
        return self._around.feed.objection(state.position) or self._around.feed.objection(state.newest)

    def _divide(self, text: str) -> Sequence[Passage]:
        if not text:
            return []
        with _reaching_model():
            return self._worker.embedder.split(text)


def _newest(works: Sequence[Work]) -> list[Work]:
    return list({work.record_id: work for work in works}.values())


@contextmanager
def _reaching_model() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ModelUnavailable(f"the embedding model is not available: {describe(error)}") from error
