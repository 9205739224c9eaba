"""Row cache of record statuses, invalidated by the change feed."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from stores.errors import NotFound
from stores.ledger.feed import FeedReads
from stores.records import Change, Position

MOST_ORGANIZATIONS = 64
MOST_RECORDS = 100_000
"""Per organization; a third of a kilobyte each."""
MOST_CHANGES = 500
"""After more changes, all rows of the organization are dropped."""


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
        """Return the statuses of existing records, by id."""
        wanted = list(dict.fromkeys(ids))
        position = self._follow(organization_id) if wanted else None
        if position is None:
            return {}
        found = self._get(organization_id, position, wanted)
        if missing := [each for each in wanted if each not in found]:
            read = {row.id: row for row in self._read(organization_id, missing)}
            self._keep(organization_id, position, read)
            found |= read
        return found

    def _follow(self, organization_id: str) -> Position | None:
        # Before the head is read, which is then as fresh or fresher.
        version = self._version()
        with self._lock:
            cached = self._organizations.get(organization_id)
            known = None if cached is None else cached.position
            if cached is not None and version is not None and cached.version == version:
                return known
        try:
            head = self._feed.head(organization_id)
        except NotFound:
            return None
        changes: list[Change] = []
        if known is not None and known != head and self._feed.batch_at(organization_id, known.sequence) == known.batch:
            changes = self._feed.changes(organization_id, known.sequence, MOST_CHANGES)
        is_whole = known == head or (bool(changes) and changes[-1].sequence >= head.sequence)
        self._advance(organization_id, known if is_whole else None, _Organization(head, version), changes)
        return head

    def _advance(
        self, organization_id: str, before: Position | None, after: _Organization, changes: Collection[Change]
    ) -> None:
        with self._lock:
            cached = self._organizations.get(organization_id)
            if cached is None or cached.position not in (before, after.position):
                cached = self._organizations[organization_id] = after
            for change in changes:
                if change.kind == "entity":
                    cached.rows.pop(change.record_id, None)
            cached.position, cached.version = after.position, after.version
            self._organizations.move_to_end(organization_id)
            if len(self._organizations) > MOST_ORGANIZATIONS:
                self._organizations.popitem(last=False)

    def _get(self, organization_id: str, position: Position, ids: Iterable[str]) -> dict[str, RecordStatus]:
        with self._lock:
            cached = self._organizations.get(organization_id)
            if cached is None or cached.position.epoch != position.epoch:
                return {}
            if cached.position.sequence < position.sequence:
                return {}
            rows = cached.rows
            return {each: rows[each] for each in ids if each in rows}

    def _keep(self, organization_id: str, position: Position, rows: Mapping[str, RecordStatus]) -> None:
        with self._lock:
            cached = self._organizations.get(organization_id)
            # Another request may have advanced since.
            if cached is None or cached.position != position:
                return
            if len(cached.rows) + len(rows) > MOST_RECORDS:
                cached.rows.clear()
            cached.rows.update(rows)
