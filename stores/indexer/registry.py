"""LRU of open organizations."""

import threading
import time
from collections.abc import Callable

from stores.errors import NotFound
from stores.indexer.options import IndexerOptions
from stores.indexer.organization import OpenOrganization


class Registry:
    """Closing waits for threads and is left to `close_surplus`."""

    def __init__(self, make: Callable[[str], OpenOrganization], options: IndexerOptions) -> None:
        self._make = make
        self._options = options
        self._changed = threading.Condition()
        self._open: dict[str, OpenOrganization] = {}
        self._leaving: dict[str, OpenOrganization] = {}
        self.discarded: set[str] = set()
        """Deleted organizations. Only grows."""
        self._closed = False

    def get(self, organization_id: str) -> OpenOrganization | None:
        with self._changed:
            return self._open.get(organization_id)

    def find(self, organization_id: str) -> OpenOrganization | None:
        with self._changed:
            return self._open.get(organization_id) or self._leaving.get(organization_id)

    def known(self) -> list[OpenOrganization]:
        with self._changed:
            return [*self._open.values(), *self._leaving.values()]

    def hold(self, organization_id: str, timeout_s: float) -> OpenOrganization:
        """Open an organization and keep it open until `let_go`, or raise TimeoutError, RuntimeError or NotFound."""
        with self._changed:

            def is_decided() -> bool:
                return self._closed or organization_id in self.discarded or organization_id not in self._leaving

            if not self._changed.wait_for(is_decided, timeout_s):
                raise TimeoutError(f"Organization {organization_id} is still being closed.")
            if self._closed:
                raise RuntimeError("The indexer is closed.")
            if organization_id in self.discarded:
                raise NotFound(f"Organization {organization_id} does not exist.")
            found = self._open.get(organization_id)
            if found is None:
                found = self._open[organization_id] = self._make(organization_id)
            found.hold()
            return found

    def hold_if_open(self, organization_id: str) -> OpenOrganization | None:
        with self._changed:
            found = self._open.get(organization_id)
            if found is not None:
                found.hold()
            return found

    def has_room(self, *, is_urgent: bool) -> bool:
        """Return whether another one may be opened; an urgent one also where all are busy, up to twice the limit."""
        with self._changed:
            limit = self._options.open_limit * (2 if is_urgent else 1)
            return len(self._open) < limit or any(not each.held and not each.busy for each in self._open.values())

    def close_surplus(self, note: Callable[[OpenOrganization], None]) -> None:
        while victim := self._choose():
            victim.close(timeout_s=60)
            note(victim)
            self._left(victim)

    def discard(self, organization_id: str, timeout_s: float) -> bool:
        """Close an organization for good; False while a lane runs or somebody reads."""
        with self._changed:
            self.discarded.add(organization_id)
            victim = self._open.pop(organization_id, None) or self._leaving.get(organization_id)
            if victim is not None:
                self._leaving[organization_id] = victim
        if victim is None:
            return True
        ended = victim.discard(timeout_s) and not victim.held
        if ended:
            self._left(victim)
        return ended

    def stop(self) -> list[OpenOrganization]:
        with self._changed:
            self._closed = True
            found = list(self._open.values())
            self._changed.notify_all()
        for each in found:
            each.stop()
        return found

    def _left(self, victim: OpenOrganization) -> None:
        with self._changed:
            self._leaving.pop(victim.id, None)
            self._changed.notify_all()

    def _choose(self) -> OpenOrganization | None:
        with self._changed:
            surplus = len(self._open) - self._options.open_limit
            if surplus <= 0 or self._closed:
                return None
            victim = self._least_wanted(crowded=surplus > self._options.open_limit)
            if victim is not None:
                del self._open[victim.id]
                self._leaving[victim.id] = victim
            return victim

    def _least_wanted(self, *, crowded: bool) -> OpenOrganization | None:
        free = [each for each in self._open.values() if not each.held]
        # Token vectors and erasing go on when there is room again.
        idle = [each for each in free if not each.busy] or [each for each in free if each.may_be_put_off]
        if not idle and crowded:
            now = time.monotonic()
            idle = [each for each in free if now - each.opened_at >= self._options.busy_quantum_s]
        return min(idle, key=lambda each: each.used_at, default=None)
