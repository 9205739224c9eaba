"""Indexer: keeps three indexes per organization in step, and lends them to searches."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from stores.embedding import Embedder
from stores.folder import claim, release
from stores.indexer.embedding_worker import EmbeddingWorker
from stores.indexer.folders import OrganizationFolder
from stores.indexer.options import NAMES, Examined, IndexerOptions, IndexName, IndexStatus
from stores.indexer.organization import OpenIndexes, OpenOrganization, Registry, Shared
from stores.indexer.supervisor import Supervisor
from stores.ledger import Ledger
from stores.room import Room

if TYPE_CHECKING:
    from stores.embedding.builtin import LateEncoder

OPEN_TIMEOUT_S = 20.0
FRESH_TIMEOUT_S = 2.0
"""Wait of the search that opens an organization for its indexes to catch up."""
EXAMINE_POLL_S = 0.05
BUILDERS = 2
MOST_UNREAD = 1_000

log = structlog.get_logger("indexer")


class Indexer:
    """Thread-safe. Register `notify` for commits and `forget` for deletions."""

    def __init__(
        self,
        ledger: Ledger,
        folder: Path,
        *,
        embedder: Embedder | None,
        options: IndexerOptions,
        clock: Callable[[], datetime],
        late: "LateEncoder | None" = None,
    ) -> None:
        self._folder = folder.absolute()
        self._ledger = ledger
        turns = EmbeddingWorker(embedder, options, late) if embedder is not None else None
        self._turns = turns
        self._builders = ThreadPoolExecutor(BUILDERS, "index-builder")
        graphs, vectors = Room(options.graph_budget_mb * 1_000_000), Room(options.vector_budget_mb * 1_000_000)
        self._shared = Shared(ledger, options, clock, self._builders, graphs, vectors, turns, self._progressed)
        self._registry = Registry(self._make, options)
        self._supervisor = Supervisor(self._registry, self._folder, self._files, self._shared)
        self._waiting_is_over = False
        self.on_applied: list[Callable[[str, int], None]] = []
        """Called with an organization and its watermark, on the indexes' threads. Must not block."""

    def start(self) -> None:
        """Claim the folder or raise RuntimeError, catch up and follow the feed."""
        claim(self._folder)
        if self._turns is not None:
            self._turns.start()
        self._supervisor.start()

    def stop(self) -> None:
        """Begin nothing more; `close` waits for running work."""
        self._supervisor.stop()
        self._registry.stop()

    def close(self, timeout_s: float = 10) -> None:
        """Finish running work and close every index; the next start replays the rest."""
        until = time.monotonic() + timeout_s
        self._supervisor.stop()
        found = self._registry.stop()
        self._builders.shutdown(wait=False, cancel_futures=True)
        for organization in found:
            if not organization.close(max(0.0, until - time.monotonic())):
                log.warning("indexes_left_open", organization_id=organization.id)
        if self._turns is not None:
            self._turns.stop()
            self._turns.join(max(0.0, until - time.monotonic()))
        self._supervisor.join(max(0.1, until - time.monotonic()))
        release(self._folder)

    def notify(self, organization_id: str, sequence: int) -> None:
        """Note a commit. Does not block."""
        organization = self._registry.get(organization_id)
        if organization is not None:
            organization.wake(sequence)
        else:
            self._supervisor.want(organization_id, sequence)

    def notify_elsewhere(self, organization_id: str, sequence: int) -> None:
        """Note a commit of another process if the organization is open. Does not block."""
        if (organization := self._registry.get(organization_id)) is not None:
            is_level = organization.applied(organization.head)
            organization.wake(sequence)
            if is_level:
                # A waiter shortens the time in which writes are gathered; not for each write of many.
                organization.wait(sequence, ())

    def forget(self, organization_id: str) -> None:
        """Close a deleted organization and remove its indexes. Never raises."""
        self._supervisor.forget(organization_id)

    def applied(self, organization_id: str, sequence: int) -> bool:
        """Return whether every healthy index holds a change. Opens nothing."""
        organization = self._registry.find(organization_id)
        if organization is not None:
            return organization.applied(sequence)
        closing = self._supervisor.closing(organization_id)
        marks = closing.watermarks if closing is not None else {}
        return all(name in marks and marks[name].contains(sequence) for name in self._supervisor.expected)

    def wait_applied(
        self, organization_id: str, sequence: int, record_ids: Sequence[str], timeout_s: float
    ) -> list[str]:
        """Block until every healthy index holds a write; return the names of the others."""
        return asyncio.run(self.applied_within(organization_id, sequence, record_ids, timeout_s))

    async def applied_within(
        self, organization_id: str, sequence: int, record_ids: Sequence[str], timeout_s: float
    ) -> list[str]:
        """Wait until every healthy index holds a write; return the names of the others."""
        organization = self._registry.hold_if_open(organization_id)
        if organization is None:
            if self._waiting_is_over:
                return list(self._supervisor.expected)
            organization = await asyncio.to_thread(self._open, organization_id)
        try:
            if self._waiting_is_over:  # It may have been opened since.
                organization.waits.end()
            waiting = asyncio.wrap_future(organization.wait(sequence, record_ids))
            return await asyncio.wait_for(waiting, timeout_s)
        except TimeoutError:
            return organization.missing(sequence, record_ids)[0]
        finally:
            organization.let_go()

    def end_waits(self) -> None:
        """Answer all waiters now, and later ones at once. For a server's end."""
        self._waiting_is_over = True
        for organization in self._registry.known():
            organization.waits.end()

    @contextmanager
    def indexes(self, organization_id: str) -> Iterator[OpenIndexes]:
        """Lend the indexes of an organization, opening it where it is closed; NotFound for an unknown one."""
        with self._held(organization_id) as organization:
            organization.wait_settled(OPEN_TIMEOUT_S)
            with organization.lend() as lent:
                yield lent

    def status(self) -> list[IndexStatus]:
        """Return the status of every index. Opens nothing."""
        opened = {organization.id: organization for organization in self._registry.known()}
        lines = self._supervisor.closed_status(opened)
        for organization in opened.values():
            lines += organization.status()
        return sorted(lines, key=lambda line: (line.organization_id, NAMES.index(line.index)))

    def status_of(self, organization_id: str) -> list[IndexStatus]:
        organization = self._registry.get(organization_id)
        return organization.status() if organization is not None else []

    def unread(self, organization_id: str, visibility: frozenset[str]) -> int:
        """Count the visible records that search by words or meaning does not know yet, up to `MOST_UNREAD`."""
        organization = self._registry.get(organization_id)
        if organization is None:
            return 0
        behind = [
            lane for lane in organization.lanes if lane.name != "graph" and lane.status(organization.head).pending
        ]
        after = min((lane.status(organization.head).watermark for lane in behind), default=organization.head)
        changes = self._ledger.feed.changes(organization_id, after, MOST_UNREAD) if behind else []
        last = {each.record_id: each for each in changes if each.kind == "entity" and each.visibility in visibility}
        written = {each: change.sequence for each, change in last.items() if change.operation != "delete"}
        return sum(any(not lane.contains(at, [each]) for lane in behind) for each, at in written.items())

    @property
    def surveyed(self) -> bool:
        """`status` knows every organization."""
        return self._supervisor.surveyed

    def watermarks(self) -> dict[str, int]:
        """Return the sequence numbers up to which no index needs the feed."""
        return self._supervisor.watermarks()

    def examine(self, organization_id: str, wait_s: float = 0) -> list[Examined]:
        """Compare every index with the ledger once level, or after `wait_s`. Blocks."""
        with self._held(organization_id) as organization:
            for lane in organization.lanes:
                lane.wait_settled(OPEN_TIMEOUT_S)
            until = time.monotonic() + wait_s
            while not organization.level and time.monotonic() < until:
                time.sleep(EXAMINE_POLL_S)
            return [
                Examined(lane.name, lane.status(organization.head).pending, lane.differences())
                for lane in organization.lanes
            ]

    def reindex(self, organization_id: str, names: Collection[IndexName] = NAMES) -> None:
        """Rebuild indexes; block until the new ones serve; raise the error of a rebuild."""
        with self._held(organization_id) as organization:
            if "vectors" in names:
                organization.drop_vectors()
            for done in [lane.rebuild() for lane in organization.lanes if lane.name in names]:
                done.result()

    def is_tidying(self, organization_id: str) -> bool:
        """Tell whether files of an index still hold removed records."""
        with self._held(organization_id) as organization:
            marks = [lane.recorded for lane in organization.lanes]
        return any(mark is None or mark.erasable for mark in marks)

    def is_settled(self, organization_id: str) -> bool:
        organization = self._registry.get(organization_id)
        return organization is not None and organization.wait_settled(0)

    @contextmanager
    def _held(self, organization_id: str) -> Iterator[OpenOrganization]:
        organization = self._registry.hold_if_open(organization_id) or self._open(organization_id)
        try:
            yield organization
        finally:
            organization.let_go()

    def _open(self, organization_id: str) -> OpenOrganization:
        head = self._ledger.feed.head(organization_id).sequence
        organization = self._registry.hold(organization_id, OPEN_TIMEOUT_S)
        organization.wake(head)
        with suppress(TimeoutError):
            organization.wait(head, []).result(FRESH_TIMEOUT_S)
        return organization

    def _files(self, organization_id: str) -> OrganizationFolder:
        if Path(organization_id).name != organization_id:
            raise ValueError(f"{organization_id!r} cannot name a folder.")
        return OrganizationFolder(self._folder / organization_id)

    def _make(self, organization_id: str) -> OpenOrganization:
        organization = OpenOrganization(organization_id, self._files(organization_id), self._shared)
        organization.start()
        return organization

    def _progressed(self, organization_id: str) -> None:
        self._supervisor.progressed()
        organization = self._registry.get(organization_id)
        if organization is None:
            return
        watermark = organization.watermark()
        for listener in self.on_applied:
            try:
                listener(organization_id, watermark)
            except Exception:  # a listener's fault is not an index's
                log.exception("listener_failed", organization_id=organization_id)
