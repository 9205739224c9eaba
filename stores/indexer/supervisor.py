"""The indexer's own thread: opens what is wanted, catches up what is behind, closes what is too much, shares memory."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

import structlog

from stores.indexer.feed import LedgerUnreadable, reading
from stores.indexer.folders import Closing, OrganizationFolder
from stores.indexer.memory import VectorMemory
from stores.indexer.organization import OpenOrganization, Shared
from stores.indexer.registry import Registry
from stores.indexer.status import NAMES, IndexName, IndexStatus

HOLD_TIMEOUT_S = 5.0

log = structlog.get_logger("indexer")


@dataclass(slots=True)
class Known:
    """What is known about an organization that may be closed."""

    head: int = 0
    closing: Closing | None = None


class Supervisor:
    """Keeps the book of organizations and queues those that need to be opened."""

    def __init__(self, registry: Registry, files: Callable[[str], OrganizationFolder], shared: Shared) -> None:
        self._registry = registry
        self._files = files
        self._shared = shared
        self._memory = VectorMemory(shared.options.vector_budget_mb * 1_000_000)
        self._lock = threading.Lock()
        self._known: dict[str, Known] = {}
        self._wanted: dict[str, None] = {}
        self._behind: dict[str, None] = {}
        self._surveyed = False
        self._signal = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="indexer", daemon=True)

    @property
    def expected(self) -> tuple[IndexName, ...]:
        """The indexes that every organization has."""
        return NAMES if self._shared.turns is not None else NAMES[:2]

    def start(self) -> None:
        """Look at what the last stop left, then keep watch."""
        self._thread.start()

    def stop(self) -> None:
        """Open nothing more."""
        self._stopping.set()
        self._signal.set()

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end."""
        self._thread.join(timeout_s)

    def want(self, organization_id: str, sequence: int) -> None:
        """Open an organization soon: it has a commit to follow."""
        with self._lock:
            known = self._known.setdefault(organization_id, Known())
            known.head = max(known.head, sequence)
            self._wanted[organization_id] = None
        self._signal.set()

    def progressed(self) -> None:
        """Look whether there is room now for an organization that waits for it."""
        if self._wanted or self._behind:
            self._signal.set()

    def closing(self, organization_id: str) -> Closing | None:
        """What was recorded when an organization was last closed."""
        with self._lock:
            known = self._known.get(organization_id)
            return known.closing if known is not None else None

    def closed_status(self, opened: Collection[str]) -> list[IndexStatus]:
        """Where the indexes of all other organizations are, as far as that is known without opening them."""
        with self._lock:
            known = {each: (what.head, what.closing) for each, what in self._known.items()}
        lines: list[IndexStatus] = []
        for each, (head, closing) in known.items():
            if each not in opened:
                lines += [self._closed_line(each, name, head, closing) for name in self.expected]
        return lines

    def watermarks(self) -> dict[str, int]:
        """The lowest watermark of each organization; one that is not known whole is left out."""
        with self._lock:
            closed = {each: what.closing for each, what in self._known.items()}
        found: dict[str, int] = {}
        for each, closing in closed.items():
            opened = self._registry.find(each)
            marks = opened.closing().watermarks if opened is not None else closing.watermarks if closing else {}
            if all(name in marks and marks[name].complete for name in self.expected):
                found[each] = min(marks[name].sequence for name in self.expected)
        return found

    def _closed_line(self, organization_id: str, name: IndexName, head: int, closing: Closing | None) -> IndexStatus:
        mark = closing.watermarks.get(name) if closing is not None else None
        if mark is None:
            return IndexStatus(organization_id, name, "catching_up", 0, head)
        pending = mark.pending(head)
        whole = mark.complete and not pending
        return IndexStatus(organization_id, name, "ready" if whole else "catching_up", mark.sequence, pending)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._step()
            except LedgerUnreadable as error:
                log.warning("ledger_unreadable", detail=str(error))
            except Exception:  # the thread's edge: it serves every organization
                log.exception("indexer_step_failed")
            self._signal.wait(self._shared.options.poll_s)
            self._signal.clear()

    def _step(self) -> None:
        if not self._surveyed:
            self._survey()
            self._surveyed = True
        self._registry.close_surplus(self._note_closed)
        self._open_wanted()
        self._open_behind()
        for each in self._registry.all():
            self._look_at(each)
        self._memory.share(self._registry.all())

    def _survey(self) -> None:
        """Find the organizations whose indexes do not hold everything, without opening any."""
        with reading():
            organizations = self._shared.ledger.organizations()
        for each in organizations:
            if self._stopping.is_set():
                return
            with reading():
                head = self._shared.ledger.head(each.id).sequence
            files = self._files(each.id)
            closing = files.closing()
            with self._lock:
                known = self._known.setdefault(each.id, Known())
                known.head, known.closing = max(head, known.head), closing
                if self._is_behind(known) and (head or files.path.exists()):
                    self._behind[each.id] = None

    def _is_behind(self, known: Known) -> bool:
        closing, shared = known.closing, self._shared
        if closing is None or closing.epoch != shared.ledger.epoch:
            return True
        model = shared.turns.source.model if shared.turns is not None else ""
        if model and closing.model != model:
            return True
        marks = closing.watermarks
        return any(
            name not in marks or not marks[name].complete or marks[name].sequence != known.head
            for name in self.expected
        )

    def _note_closed(self, organization: OpenOrganization) -> None:
        with self._lock:
            known = self._known.setdefault(organization.id, Known())
            known.head, known.closing = max(known.head, organization.head), organization.closing()
            if self._is_behind(known):
                self._behind[organization.id] = None

    def _open_wanted(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                organization_id = next(iter(self._wanted), None)
            if organization_id is None or not (self._registry.room or self._registry.has_emergency_room):
                return
            self._open(organization_id)
            with self._lock:
                self._wanted.pop(organization_id, None)

    def _open_behind(self) -> None:
        """Open one after the other, when there is room and nobody is more urgent."""
        while not self._stopping.is_set() and not self._wanted and self._registry.room:
            with self._lock:
                organization_id = next(iter(self._behind), None)
            if organization_id is None:
                return
            opened = self._open(organization_id)
            if opened is not None:
                opened.wait_settled(HOLD_TIMEOUT_S)
            with self._lock:
                self._behind.pop(organization_id, None)

    def _open(self, organization_id: str) -> OpenOrganization | None:
        try:
            opened = self._registry.hold(organization_id, HOLD_TIMEOUT_S)
        except (TimeoutError, RuntimeError) as error:
            log.warning("organization_not_opened", organization_id=organization_id, detail=str(error))
            return None
        opened.let_go()
        with self._lock:
            self._wanted.pop(organization_id, None)
            self._behind.pop(organization_id, None)
            head = self._known.setdefault(organization_id, Known()).head
        opened.wake(head)
        self._registry.close_surplus(self._note_closed)
        return opened

    def _look_at(self, organization: OpenOrganization) -> None:
        """Find the commits of other processes, which nobody announces."""
        with reading():
            head = self._shared.ledger.head(organization.id).sequence
        with self._lock:
            known = self._known.setdefault(organization.id, Known())
            known.head = max(known.head, head)
        if head > organization.head:
            organization.wake(head)
