"""Row cache of record statuses, dropped when the organization's feed grows."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from stores.errors import NotFound
from stores.ledger.feed import FeedReads
from stores.records import Position

MOST_ORGANIZATIONS = 64
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
            found = {each: cached.rows[each] for each in wanted if each in cached.rows}
        if missing := [each for each in wanted if each not in found]:
            read = {row.id: row for row in self._read(organization_id, missing)}
            with self._lock:
                if len(cached.rows) + len(read) > MOST_RECORDS:
                    cached.rows.clear()
                # Rows may be newer than the position: they go with the older ones when the feed has grown.
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
        with self._lock:
            cached = self._organizations.get(organization_id)
            if cached is None or cached.position != head:
                cached = self._organizations[organization_id] = _Organization(head, version)
            cached.version = version
            self._organizations.move_to_end(organization_id)
            if len(self._organizations) > MOST_ORGANIZATIONS:
                self._organizations.popitem(last=False)
            return cached
