"""What was read of records before, kept in step with an organization's feed."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from stores.ledger.relations import SUPERSEDES
from stores.records import Change, Position

MOST_ORGANIZATIONS = 64
MOST_RECORDS = 50_000
"""Records of one organization; above that all of them are read again."""


class Facets(NamedTuple):
    """What filters compare, words in lower case; "" or None where a record has none."""

    type: str
    status: str
    priority: str
    category: str
    complexity: str
    feature: str
    epic_id: str | None
    project_id: str | None
    source_id: str | None


class Standing(NamedTuple):
    """Whether a record is there, who may read it, and whether another one, visible to the caller, retired it."""

    id: str
    entity_type: str
    visibility: str
    updated_us: int
    """Microseconds since 1970: a ranking compares hundreds of these, and shows none."""
    created_us: int
    facets: Facets
    superseded: bool = False
    """What depends on the caller: never known beforehand."""


@dataclass(slots=True)
class _Known:
    position: Position
    rows: dict[str, Standing] = field(default_factory=dict)
    facets: dict[Facets, Facets] = field(default_factory=dict)
    """Each once: most records share theirs with many."""
    retirable: frozenset[str] | None = None

    def reaches(self, position: Position) -> bool:
        """Tell whether this is as fresh as a position of the same feed; another request may have gone further."""
        return self.position.epoch == position.epoch and self.position.sequence >= position.sequence


class KnownRows:
    """Standings by organization and id, each as fresh as a position of the feed. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def position(self, organization_id: str) -> Position | None:
        """How fresh the rows of an organization are; None where there are none."""
        with self._lock:
            known = self._known.get(organization_id)
            return known.position if known is not None else None

    def advance(self, organization_id: str, before: Position | None, to: Position, changes: Iterable[Change]) -> None:
        """Forget what changed between two positions; forget all if the first is not where we are."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is not None and known.position == to:
                return
            if known is None or known.position != before:
                known = self._known[organization_id] = _Known(to)
            known.position = to
            for change in changes:
                known.rows.pop(change.record_id, None)
                if (change.kind, change.entity_type) == ("relation", SUPERSEDES):
                    known.retirable = None
            self._known.move_to_end(organization_id)
            if len(self._known) > MOST_ORGANIZATIONS:
                self._known.popitem(last=False)

    def retirable(self, organization_id: str, position: Position) -> frozenset[str] | None:
        """The ids of all that some supersession is about, whatever its dates and whoever sees it; None: not known."""
        with self._lock:
            known = self._known.get(organization_id)
            return known.retirable if known is not None and known.reaches(position) else None

    def keep_retirable(self, organization_id: str, position: Position, ids: frozenset[str]) -> None:
        """Remember what may be retired, as read at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is not None and known.position == position and len(ids) <= MOST_RECORDS:
                known.retirable = ids

    def get(self, organization_id: str, position: Position, ids: Iterable[str]) -> dict[str, Standing]:
        """The rows that are known at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or not known.reaches(position):
                return {}
            rows = known.rows
            return {record_id: rows[record_id] for record_id in ids if record_id in rows}

    def keep(self, organization_id: str, position: Position, rows: Mapping[str, Standing]) -> None:
        """Remember rows that were read at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.position != position:
                return
            if len(known.rows) + len(rows) > MOST_RECORDS:
                known.rows.clear()
                known.facets.clear()
            once = known.facets.setdefault
            known.rows.update((each, row._replace(facets=once(row.facets, row.facets))) for each, row in rows.items())
