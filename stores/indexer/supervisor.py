"""Indexer thread: opens organizations with changes, closes surplus ones."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from stores.errors import NotFound
from stores.indexer.feed import LedgerUnreadable, reading
from stores.indexer.folders import Closing, OrganizationFolder, Watermark
from stores.indexer.options import NAMES, IndexName, IndexStatus, State
from stores.indexer.organization import OpenOrganization, Registry, Shared
from stores.indexer.steps import StepThread
from stores.lexical import layout

HOLD_TIMEOUT_S = 5.0
DISCARD_TIMEOUT_S = 20.0

log = structlog.get_logger("indexer")


@dataclass(slots=True)
class OrganizationState:
    head: int = 0
    closing: Closing | None = None


class Supervisor(StepThread):
    def __init__(
        self, registry: Registry, folder: Path, files: Callable[[str], OrganizationFolder], shared: Shared
    ) -> None:
        super().__init__("indexer")
        self._registry = registry
        self._folder = folder
        self._files = files
        self._shared = shared
        self._lock = threading.Lock()
        self._states: dict[str, OrganizationState] = {}
        self._due: OrderedDict[str, bool] = OrderedDict()
        """Organizations to open; true, and first, where something was written meanwhile."""
        self._left_over: set[str] = set()
        """Deleted organizations still open or with a folder."""
        self.surveyed = False

    @property
    def expected(self) -> tuple[IndexName, ...]:
        return NAMES if self._shared.turns is not None else NAMES[:2]

    def want(self, organization_id: str, sequence: int) -> None:
        with self._lock:
            state = self._state_of(organization_id)
            state.head = max(state.head, sequence)
            self._note_due(organization_id, is_urgent=True)
        self._signal.set()

    def forget(self, organization_id: str, timeout_s: float = DISCARD_TIMEOUT_S) -> None:
        """Close a deleted organization and remove its folder; failures are retried."""
        with self._lock:
            self._registry.discarded.add(organization_id)
            self._left_over.add(organization_id)
            self._states.pop(organization_id, None)
            self._due.pop(organization_id, None)
        self._remove(organization_id, timeout_s)

    def progressed(self) -> None:
        if self._due:
            self._signal.set()

    def closing(self, organization_id: str) -> Closing | None:
        state = self._states.get(organization_id)
        return state.closing if state is not None else None

    def closed_status(self, opened: Collection[str]) -> list[IndexStatus]:
        return [
            self._closed_line(each, name, state.head, state.closing)
            for each, state in self._states.copy().items()
            if each not in opened
            for name in self.expected
        ]

    def watermarks(self) -> dict[str, int]:
        """Return the lowest watermark of each organization with complete indexes."""
        found: dict[str, int] = {}
        for each, state in self._states.copy().items():
            opened = self._registry.find(each)
            closing = opened.closing() if opened is not None else state.closing
            marks = closing.watermarks if closing is not None else {}
            if all(name in marks and marks[name].complete for name in self.expected):
                found[each] = min(marks[name].sequence for name in self.expected)
        return found

    def _closed_line(self, organization_id: str, name: IndexName, head: int, closing: Closing | None) -> IndexStatus:
        mark = (closing.watermarks.get(name) if closing is not None else None) or Watermark(0)
        pending = mark.pending(head) if name in self._usable(closing) else head
        # An organization without any change lacks nothing.
        state: State = "catching_up" if pending else "ready"
        return IndexStatus(organization_id, name, state, mark.sequence, pending, refused=mark.refused)

    def _usable(self, closing: Closing | None) -> dict[str, Watermark]:
        """Return the watermarks of the indexes that need no rebuild."""
        if closing is None:
            return {}
        found = {name: mark for name, mark in closing.watermarks.items() if mark.complete}
        if closing.words != layout():
            found.pop("lexical", None)
        turns = self._shared.turns
        if turns is not None and (
            closing.model != turns.embedder.model or turns.token_label not in ("", closing.tokens)
        ):
            found.pop("vectors", None)
        return found

    def _step(self) -> float:
        try:
            self._look_around()
        except LedgerUnreadable as error:
            log.warning("ledger_unreadable", detail=str(error))
        except Exception:  # the thread's edge: it serves every organization
            log.exception("indexer_step_failed")
        return self._shared.options.poll_s

    def _look_around(self) -> None:
        if not self.surveyed:
            self._survey()
            self.surveyed = True
        for deleted in list(self._left_over):
            self._remove(deleted, 0)
        self._registry.close_surplus(self._note_closed)
        self._open_due()
        for each in self._registry.known():
            self._look_at(each)

    def _survey(self) -> None:
        # Before the ledger is read: a folder made since would look like one without an organization.
        folders = {entry.name for entry in self._folder.iterdir() if entry.is_dir()} if self._folder.is_dir() else set()
        with reading():
            organizations = self._shared.ledger.people.organizations()
        for name in folders.difference(each.id for each in organizations):
            log.info("indexes_of_no_organization", organization_id=name)
            self.forget(name, 0)
        for each in organizations:
            if self._stopping.is_set():
                return
            head = self._head(each.id)
            if head is None:
                continue
            files = self._files(each.id)
            closing = files.closing()
            with self._lock:
                state = self._state_of(each.id)
                state.head, state.closing = max(head, state.head), closing
                if self._is_behind(state) and (head or files.path.exists()):
                    self._note_due(each.id)

    def _is_behind(self, state: OrganizationState) -> bool:
        if state.closing is None or state.closing.epoch != self._shared.ledger.feed.epoch:
            return True
        marks = self._usable(state.closing)
        return any(
            name not in marks or marks[name].erasable or marks[name].sequence != state.head for name in self.expected
        )

    def _note_closed(self, organization: OpenOrganization) -> None:
        with self._lock:
            state = self._state_of(organization.id)
            state.head, state.closing = max(state.head, organization.head), organization.closing()
            if self._is_behind(state):
                self._note_due(organization.id)

    def _open_due(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                organization_id, is_urgent = next(iter(self._due.items()), ("", False))
            if not organization_id or not self._registry.has_room(is_urgent=is_urgent):
                return
            opened = self._open(organization_id)
            if opened is not None and not is_urgent:
                opened.wait_settled(HOLD_TIMEOUT_S)
            with self._lock:
                self._due.pop(organization_id, None)

    def _open(self, organization_id: str) -> OpenOrganization | None:
        try:
            opened = self._registry.hold(organization_id, HOLD_TIMEOUT_S)
        except NotFound:
            return None
        except (TimeoutError, RuntimeError) as error:
            log.warning("organization_not_opened", organization_id=organization_id, detail=str(error))
            return None
        opened.let_go()
        with self._lock:
            self._due.pop(organization_id, None)
            head = self._state_of(organization_id).head
        opened.wake(head)
        self._registry.close_surplus(self._note_closed)
        return opened

    def _look_at(self, organization: OpenOrganization) -> None:
        head = self._head(organization.id)
        if head is None:
            self.forget(organization.id, 0)
            return
        with self._lock:
            state = self._state_of(organization.id)
            state.head = max(state.head, head)
        if head > organization.head:
            organization.wake(head)

    def _head(self, organization_id: str) -> int | None:
        with reading(), suppress(NotFound):
            return self._shared.ledger.feed.head(organization_id).sequence
        return None

    def _state_of(self, organization_id: str) -> OrganizationState:
        is_deleted = organization_id in self._registry.discarded
        return OrganizationState() if is_deleted else self._states.setdefault(organization_id, OrganizationState())

    def _note_due(self, organization_id: str, *, is_urgent: bool = False) -> None:
        if organization_id not in self._registry.discarded:
            self._due[organization_id] = is_urgent or self._due.get(organization_id, False)
            if is_urgent:
                self._due.move_to_end(organization_id, last=False)

    def _remove(self, organization_id: str, timeout_s: float) -> None:
        try:
            closed = self._registry.discard(organization_id, timeout_s)
            if closed and self._files(organization_id).remove():
                with self._lock:
                    self._left_over.discard(organization_id)
        except Exception:  # the deletion and the other organizations must go on
            log.exception("indexes_not_removed", organization_id=organization_id)
