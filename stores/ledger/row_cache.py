"""Row cache of record statuses, without those that changed since."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from stores.errors import NotFound
from stores.ledger.feed import FeedReads
from stores.records import Position

MOST_ORGANIZATIONS = 64
MOST_CHANGES = 500
"""Beyond these all rows of an organization are dropped."""
MOST_RECORDS = 100_000
"""Per organization; a third of a kilobyte each."""


class Facets(NamedTuple):
    """Values for filters, in lower case; "" or None where absent."""

    type: str
    status: str
    priority: str
    category: str
    complexity: str
    feature: str
    epic_id: str | None
    project_id: str | None
    source_id: str | None


class RecordStatus(NamedTuple):
    """A record without its text."""

    id: str
    entity_type: str
    visibility: str
    updated_us: int
    """Microseconds since 1970."""
    created_us: int
    recent_us: int
    """See `stores/event_times.py`."""
    facets: Facets
    superseded: bool = False
    """Depends on the caller, so it is never cached."""


@dataclass(slots=True)
class _Organization:
    position: Position
    version: int | None
    rows: dict[str, RecordStatus] = field(default_factory=dict)


class RowCache:
    """Always as fresh as the ledger. Thread-safe."""

    def __init__(
        self, feed: FeedReads, version: Callable[[], int | None], read: Callable[[str, list[str]], list[RecordStatus]]
    ) -> None:
        self._feed, self._version, self._read = feed, version, read
        self._lock = Lock()
        self._organizations: OrderedDict[str, _Organization] = OrderedDict()

    def rows(self, organization_id: str, ids: Iterable[str]) -> dict[str, RecordStatus]:
        wanted = list(dict.fromkeys(ids))
        cached = self._current(organization_id) if wanted else None
        if cached is None:
            return {}
        with self._lock:
            position = cached.position
            found = {each: cached.rows[each] for each in wanted if each in cached.rows}
        if missing := [each for each in wanted if each not in found]:
            read = {row.id: row for row in self._read(organization_id, missing)}
            with self._lock:
                if len(cached.rows) + len(read) > MOST_RECORDS:
                    cached.rows.clear()
                # Rows may be newer than the position, but not older: those are left out.
                if cached.position == position:
                    cached.rows.update(read)
            found |= read
        return found

    def _current(self, organization_id: str) -> _Organization | None:
        # Before the head is read, which is then as fresh or fresher.
        version = self._version()
        with self._lock:
            cached = self._organizations.get(organization_id)
        if cached is not None and version is not None and cached.version == version:
            return cached
        try:
            head = self._feed.head(organization_id)
        except NotFound:
            return None
        changed = None if cached is None else self._changed(organization_id, cached.position, head)
        with self._lock:
            if cached is None or changed is None:
                cached = self._organizations[organization_id] = _Organization(head, version)
            for record_id in changed or ():
                cached.rows.pop(record_id, None)
            if cached.position.sequence <= head.sequence:
                cached.position, cached.version = head, version
            self._organizations.move_to_end(organization_id)
            if len(self._organizations) > MOST_ORGANIZATIONS:
                self._organizations.popitem(last=False)
            return cached

    def _changed(self, organization_id: str, before: Position, head: Position) -> list[str] | None:
        """Return the records changed since, or None where they are too many or unknown."""
        if before == head:
            return []
        changes = self._feed.changes(organization_id, before.sequence, MOST_CHANGES)
        is_known = before.epoch == head.epoch and changes and changes[0].sequence == before.sequence + 1
        return [each.record_id for each in changes] if is_known and len(changes) < MOST_CHANGES else None
