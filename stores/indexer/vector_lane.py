"""Vector lane: records go through the embedding worker, and are committed in groups."""

import time
from collections.abc import Collection, Sequence
from pathlib import Path

from stores.indexer.backfill import ALL, MISSING, Backfill
from stores.indexer.backlog import Backlog, Item, Progress
from stores.indexer.comparison import differences
from stores.indexer.embedding_queue import EmbeddingQueue, Work, unreadable, write_works
from stores.indexer.embedding_worker import EmbeddingWorker
from stores.indexer.feed import FeedGap, LedgerUnreadable, reading
from stores.indexer.folders import Watermark
from stores.indexer.handle import Handle, closing_on_error
from stores.indexer.lane import FOREVER, Lane, Surroundings, describe, log, log_refused
from stores.indexer.opener import VectorOpener
from stores.indexer.refusals import divide, is_of_the_machine, summary
from stores.indexer.token_lane import TokenLane
from stores.records import Change, Position
from stores.vectors import VectorIndex, VectorState
from stores.vectors.passages import ranges

READY_RECORDS = 48
"""Records read ahead of the model, of either kind."""
AT_ONCE = 16
READ_CHANGES = 500
SELDOM = 20
"""Factor on the rest of records that the index refused."""


class VectorLane(Lane):
    name = "vectors"

    def __init__(self, around: Surroundings, turns: EmbeddingWorker) -> None:
        super().__init__(around)
        self.works = EmbeddingQueue()
        self.tokens = TokenLane(around, turns.wake)
        self._turns = turns
        self._opener = VectorOpener(around, turns.source, turns.late)
        self._handle: Handle[VectorIndex] | None = None
        self._backlog = Backlog(Progress(0, frozenset()), around.options.backlog_limit)
        self._backfill = Backfill()
        self._epoch = ""
        self._stored: VectorState | None = None
        self._buffer: list[Work] = []
        self._buffered_at = 0.0
        self._seen_outage = ""

    def start(self) -> None:
        self._turns.join_in(self)
        super().start()

    def acquire(self) -> Handle[VectorIndex] | None:
        with self._lock:
            return self._handle if self._handle is not None and self._handle.acquire() else None

    @property
    def busy(self) -> bool:
        """Token vectors do not count."""
        with self._lock:
            return self._state in ("catching_up", "rebuilding") or not self._backlog.idle or bool(self._buffer)

    def differences(self) -> list[str]:
        with self._lock:
            handle, after, awaited = self._handle, self._backlog.prefix, self._backfill.left
            if handle is None or not handle.acquire():
                return self._why_absent()
        awaited |= self.works.left_out()
        try:
            return [
                *(f"entity {each} cannot be embedded: {why}" for each, why in sorted(self._failing().items())),
                *self.tokens.differences(),
                *differences(self._around.ledger, self._around.organization_id, handle.index, after, awaited),
            ]
        finally:
            handle.release()

    def _step(self) -> float:
        self._raise_reported()
        handle = self._handle or self._open()
        if self._asked_to_rebuild():
            self._embed_all_again(handle)
        try:
            self._scan()
        except FeedGap as gap:
            log.info("feed_gap", organization_id=self._around.organization_id, index=self.name, reason=str(gap))
            self._release()
            return 0.0
        self._prepare()
        self._collect()
        self._end_backfill_if_done(handle)
        self._note_outage()
        delay = self._commit_when_due(handle)
        deaf_s = self._deaf_until - time.monotonic()
        return min(delay, deaf_s) if deaf_s > 0 else delay

    def _open(self) -> Handle[VectorIndex]:
        self._wait_for_readers()
        handle = self._adopt(*self._opener.open())
        self._settled.set()
        self._around.progressed()
        return handle

    def _adopt(self, folder: Path, index: VectorIndex) -> Handle[VectorIndex]:
        backfill = Backfill(folder)
        with closing_on_error(index):
            head, state = self._around.feed.head(), index.state()
            objection = self._opener.objection_to(state)
            mode = ALL if objection else backfill.asked or ("" if self._verified else MISSING)
            if mode:
                self._compare(backfill, mode, index)
        # A backfill brings at least the state of the head.
        progress = Progress(head.sequence if mode else 0, frozenset())
        if state is not None and not objection:
            progress = Progress(state.position.sequence, state.applied)
        handle = Handle(index, folder)
        with self._lock:
            self._epoch, self._stored, self._verified = head.epoch, state, True
            self._backlog, self._backfill = Backlog(progress, self._around.options.backlog_limit), backfill
            self.works, self._buffer, self._handle = EmbeddingQueue(), [], handle
            self.tokens.adopt(handle)
        self._erase_soon(index.erasable)
        self._announce_backfill(handle, objection or "")
        return handle

    def _embed_all_again(self, handle: Handle[VectorIndex]) -> None:
        backfill = Backfill(handle.folder)
        try:
            self._compare(backfill, ALL, handle.index)
        except LedgerUnreadable as error:
            self._answer(error)
            raise
        with self._lock:
            self._backfill = backfill
        self.tokens.begin_again()
        self._announce_backfill(handle, "on request")

    def _compare(self, backfill: Backfill, mode: str, index: VectorIndex) -> None:
        backfill.ask(mode)
        with reading():
            expected = self._around.ledger.records.revisions(self._around.organization_id)
        backfill.begin(mode, expected, index.contents())

    def _announce_backfill(self, handle: Handle[VectorIndex], reason: str) -> None:
        organization_id, total = self._around.organization_id, self._backfill.total
        self._set("rebuilding" if total else "catching_up", reason)
        if total:
            log.info("index_rebuild", organization_id=organization_id, index=self.name, reason=reason, records=total)
        self._end_backfill_if_done(handle)

    def _end_backfill_if_done(self, handle: Handle[VectorIndex]) -> None:
        if not self._backfill.active or not self._backfill.is_done(self.works.left_out()):
            return
        self._store_progress(handle.index)
        with self._lock:
            self._backfill.end()
            self._state, self._detail = "catching_up", ""
        self._around.files.sweep(self.name, [handle.folder])
        self._answer()
        self._around.progressed()

    def _scan(self) -> None:
        backlog = self._backlog
        before, scanned = backlog.prefix, backlog.scanned
        self._read_feed(backlog)
        if backlog.scanned > scanned:
            self._deaf_until = time.monotonic() + self._around.options.gather_scans_s
        with self._lock:
            for work in self.works.withdraw(backlog.is_outdated):
                backlog.supersede(work.item)
        if backlog.prefix != before:
            self._advanced()

    def _read_feed(self, backlog: Backlog) -> None:
        while changes := self._changes_after(backlog.scanned):
            with self._lock:
                backlog.scan(changes)
            if len(changes) < READ_CHANGES:
                break
        while backlog.wants_more:
            changes = self._changes_after(backlog.reached)
            with self._lock:
                backlog.catch_up(changes)

    def _changes_after(self, sequence: int) -> list[Change]:
        return self._around.feed.changes(Position(self._epoch, sequence, ""), READ_CHANGES)

    def _prepare(self) -> None:
        while items := self._take():
            self._read(items)

    def _read(self, items: Sequence[Item], refusals: int = 0) -> None:
        read = self._around.feed.entities([item.record_id for item in items])
        for item in items:
            work = Work.of(item, read, self._opener.divide)
            work.refusals = refusals
            work.vectors = self._turns.remembered.recall(work.texts()) or []
            self.works.add(work)
        self._turns.wake()

    def _take(self) -> list[Item]:
        with self._lock:
            room = READY_RECORDS - self.works.waiting(interactive=True)
            items = self._backlog.take(interactive=True, limit=max(0, min(room, AT_ONCE)))
            if not items and self.works.waiting(interactive=False) <= READY_RECORDS - AT_ONCE:
                if not self._backlog.waits_deferred:
                    self._backlog.backfill(self._backfill.next(AT_ONCE))
                items = self._backlog.take(interactive=False, limit=AT_ONCE)
            return items

    def _collect(self) -> None:
        while done := self.works.collect():
            for stale in [work for work in done if work.is_stale]:
                done.remove(stale)
                self._read([stale.item], stale.refusals)
            if done and not self._buffer:
                self._buffered_at = time.monotonic()
            self._buffer += done
            with self._lock:
                for work in done:
                    self._backlog.release(work.item)
            for work in done:
                self._turns.remembered.keep(work.texts(), work.vectors)

    def _note_outage(self) -> None:
        if self._turns.outage != self._seen_outage:
            self._seen_outage = self._turns.outage
            self._around.progressed()

    def _commit_when_due(self, handle: Handle[VectorIndex]) -> float:
        wait = self._due_in()
        if wait <= 0:
            self._commit(handle)
            return 0.0
        if wait < FOREVER:
            return wait
        self._trouble = ""
        if self._state == "catching_up":
            self._set("ready")
            self._around.progressed()
        return self._quiet(handle.index)

    def _due_in(self) -> float:
        options = self._around.options
        if not self._buffer:
            return FOREVER
        if len(self._buffer) >= options.commit_records:
            return 0.0
        interactive = any(work.item.interactive for work in self._buffer)
        limit = options.commit_after_s if interactive else options.commit_deferred_after_s
        if not self._awaits(interactive=True) and (interactive or not self._awaits(interactive=False)):
            limit = self._unhurried_s() if interactive and not self._around.hurried() else 0.0
        return max(0.0, self._buffered_at + limit - time.monotonic())

    def _awaits(self, *, interactive: bool) -> bool:
        backlog = self._backlog
        queued = backlog.waits_interactive if interactive else backlog.waits_deferred or self._backfill.waits
        return queued or self.works.in_progress(interactive=interactive)

    def _commit(self, handle: Handle[VectorIndex]) -> None:
        begin = time.monotonic()
        if damaged := unreadable(self._buffer):
            self._buffer = self._without(handle.index, self._buffer, damaged)
        state = self._state_with(self._buffer)
        try:
            write_works(handle.index, self._buffer, state)
        except Exception as error:
            if is_of_the_machine(error):
                raise
            self._buffer = self._without_refused(handle.index, self._buffer, describe(error))
            state = self._state_with(self._buffer)
            write_works(handle.index, self._buffer, state)
        self._took(time.monotonic() - begin)
        done, self._buffer = self._buffer, []
        self.works.accept(done)
        items, newest = [work.item for work in done], {work.item.record_id for work in done}
        with self._lock:
            self._backlog.commit(items)
            self._stored = state
            self._backfill.embedded(newest)
            if self._backfill.active and self._backfill.total:
                self._detail = self._backfill.detail
        self.tokens.follow(newest, [work.item.record_id for work in done if work.entity is None])
        self._end_backfill_if_done(handle)
        self._done()

    def _without_refused(self, index: VectorIndex, done: Sequence[Work], why: str) -> list[Work]:
        state = self._state_with([])
        newest = {work.item.record_id: work for work in done}
        refused = divide(list(newest.values()), lambda some: write_works(index, some, state), why)
        return self._without(index, done, refused)

    def _without(self, index: VectorIndex, done: Sequence[Work], refused: Sequence[tuple[Work, str]]) -> list[Work]:
        state = self._state_with([])
        gone = {work.item.record_id for work, _ in refused}
        # Remove outdated versions; an index that refuses that is damaged.
        index.replace([], list(gone), state)
        self.tokens.follow([], gone)
        for work, reason in refused:
            for other in done:
                if other.item.record_id == work.item.record_id:
                    work.item.sequences |= other.item.sequences
            with self._lock:
                rests = self._backlog.retake(work.item)
            if rests:
                if not work.refusals:
                    log_refused(self._around.organization_id, self.name, "entity", work.item.record_id, reason)
                self.works.refuse(work, reason, lambda refusals: SELDOM * self._around.options.pause_s(refusals))
        self._turns.wake()
        return [work for work in done if work.item.record_id not in gone]

    def _state_with(self, works: Sequence[Work]) -> VectorState:
        with self._lock:
            progress = self._backlog.after([work.item for work in works])
        return self._opener.state_of(self._epoch, progress)

    def _quiet(self, index: VectorIndex) -> float:
        if self._compaction_due(self._around.options.compact_after_commits):
            self._store_progress(index)
            self._compact(index.compact)
        return self._rest()

    def _store_progress(self, index: VectorIndex) -> None:
        state = self._state_with([])
        if state != self._stored:
            index.replace([], [], state)
            with self._lock:
                self._stored = state

    def _finish(self) -> None:
        self._turns.leave(self)
        try:
            if self._handle is not None and self._state != "failed":
                self._collect()
                if self._buffer:
                    self._commit(self._handle)
                self._store_progress(self._handle.index)
        except Exception as error:  # noqa: BLE001  # the feed brings it again
            self._log_failure(error)
        super()._finish()

    def _release(self) -> Path | None:
        with self._lock:
            handle, self._handle = self._handle, None
            self.tokens.let_go()
            self.works, self._buffer = EmbeddingQueue(), []
        if handle is None:
            return None
        return self._retire(handle)

    def _contains(self, sequence: int, record_ids: Collection[str]) -> bool:
        return self._handle is not None and self._backlog.contains(sequence, record_ids)

    def _hopeful(self) -> bool:
        return not self._turns.outage

    def _recorded(self) -> Watermark | None:
        if self._stored is None or self._handle is None:
            return None
        sequence, applied = self._stored.position.sequence, ranges(self._stored.applied)
        complete = not self._backfill.active and not self.tokens
        return Watermark(sequence, applied, complete, len(self._refused()), self._handle.index.erasable)

    def _watermark(self) -> int:
        return self._backlog.prefix if self._handle is not None else 0

    def _pending(self, head: int) -> int:
        # A record may wait in more than one.
        waiting = max(self._backlog.pending(head), len(self._backfill), len(self.tokens))
        return waiting if self._handle is not None else head

    def _refused(self) -> Collection[str]:
        return list(self._failing().values())

    def _failing(self) -> dict[str, str]:
        return {**self.tokens.refused, **({} if self._turns.outage else self.works.failing.copy())}

    def _left_out(self) -> str:
        return summary(self._refused(), verb="embedded")

    def _remark(self) -> str:
        return self.tokens.trouble

    def _hindrance(self) -> str:
        if self.works.failing:
            return self._turns.outage
        return f"rebuilding: {self._detail}" if self._backfill.active and self._backfill.total else ""
