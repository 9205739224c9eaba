"""What was read of records before, kept in step with an organization's feed."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern
from threading import Lock
from typing import NamedTuple

from stores.ledger.relations import SUPERSEDES
from stores.records import Change, Position

MOST_ORGANIZATIONS = 64
MOST_RECORDS = 100_000
"""Records of one organization; above that all of them are read again. One takes a third of a kilobyte."""


MOST_CHANGED = 2_000
"""Records that are read again one by one when all are asked for; after more changes, a thread reads all anew."""


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


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of all records are wanted."""

    visibility: frozenset[str]
    passes: Callable[[Facets], bool]
    has_epic: bool | None
    """Whether it must name an epic that has one of the visibility keys, too; None: it may."""
    among: Collection[str] | None
    """These alone; None: all."""


class Found(NamedTuple):
    """How many records there are, and their rows unless they are more than `SORTED`."""

    total: int
    rows: list[Standing] | None


SORTED = 10_000
"""As many matches are sorted in memory; where there are more, a page is soon found along an index of the order."""


@dataclass(slots=True, eq=False)
class _Known:
    position: Position
    rows: dict[str, Standing] = field(default_factory=dict)
    facets: dict[Facets, Facets] = field(default_factory=dict)
    """Each once: most records share theirs with many."""
    retirable: frozenset[str] | None = None
    groups: dict[tuple[str, Facets], dict[str, Standing]] | None = None
    """All rows by visibility and facets, where those of all records are known but for the changed ones."""
    changed: set[str] | None = None
    """Records that changed since all were read, or since that began; None where neither is so."""

    def reaches(self, position: Position) -> bool:
        """Tell whether this is as fresh as a position of the same feed; another request may have gone further."""
        return self.position.epoch == position.epoch and self.position.sequence >= position.sequence

    def put(self, row: Standing) -> None:
        """Remember a row."""
        self.drop(row.id)
        kept = self.rows[row.id] = row._replace(
            entity_type=intern(row.entity_type),
            visibility=intern(row.visibility),
            facets=self.facets.setdefault(row.facets, row.facets),
        )
        if self.groups is not None:
            self.groups.setdefault((kept.visibility, kept.facets), {})[kept.id] = kept

    def drop(self, record_id: str) -> None:
        """Forget a row."""
        row = self.rows.pop(record_id, None)
        if row is not None and self.groups is not None:
            group = self.groups[row.visibility, row.facets]
            del group[row.id]
            if not group:
                del self.groups[row.visibility, row.facets]


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
                if change.kind == "entity":
                    known.drop(change.record_id)
                    if known.changed is not None:
                        known.changed.add(change.record_id)
                elif change.entity_type == SUPERSEDES:
                    known.retirable = None
            self._known.move_to_end(organization_id)
            if len(self._known) > MOST_ORGANIZATIONS:
                self._known.popitem(last=False)

    def gather(self, organization_id: str, position: Position) -> "_Known | None":
        """Prepare for the rows of all records; None where others know better, or somebody is at it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.position != position or known.changed is not None:
                return None
            known.changed = set()
            return known

    def gathered(self, organization_id: str, known: _Known, rows: Mapping[str, Standing] | None) -> None:
        """Take the rows of all records that were read since `gather`; None: it came to nothing."""
        whole = _Known(known.position, groups={})
        for row in (rows or {}).values():
            whole.put(row)
        with self._lock:
            if self._known.get(organization_id) is not known:
                return
            if rows is None:
                known.changed = None
                return
            whole.position, whole.retirable, whole.changed = known.position, known.retirable, known.changed
            for each in whole.changed or ():
                whole.drop(each)
            self._known[organization_id] = whole

    def lacking(self, organization_id: str, position: Position) -> list[str] | None:
        """The records that have to be read again before `matching` knows all; None where it does not anyway."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.groups is None or not known.reaches(position):
                return None
            changed = list(known.changed or ())
            if len(changed) > MOST_CHANGED:
                known.groups = known.changed = None
                return None
            return changed

    def matching(self, organization_id: str, position: Position, wanted: Wanted) -> Found | None:
        """The rows of all records that are wanted; None where not those of all are known."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.groups is None or known.changed or not known.reaches(position):
                return None
            groups = known.groups
            seen = [(facets, group) for (key, facets), group in groups.items() if key in wanted.visibility]
            if wanted.has_epic is not None:
                epics = {each for facets, group in seen if facets.type == "epic" for each in group}
                seen = [pair for pair in seen if (pair[0].epic_id in epics) == wanted.has_epic]
            chosen = [(facets, group) for facets, group in seen if wanted.passes(facets)]
            if wanted.among is None:
                total = sum(len(group) for _, group in chosen)
                return Found(total, [row for _, group in chosen for row in group.values()] if total <= SORTED else None)
            passing = {id(facets) for facets, _ in chosen}
            rows = [known.rows[each] for each in wanted.among if each in known.rows]
            kept = [row for row in rows if id(row.facets) in passing and row.visibility in wanted.visibility]
            return Found(len(kept), kept)

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
                known.groups = known.changed = None
            for row in rows.values():
                known.put(row)

    def settle(
        self, organization_id: str, position: Position, ids: Iterable[str], rows: Mapping[str, Standing]
    ) -> None:
        """Remember what was read of changed records at a position or after it; those that are absent are gone."""
        self.keep(organization_id, position, rows)
        with self._lock:
            known = self._known.get(organization_id)
            if known is not None and known.position == position and known.groups is not None:
                known.changed = (known.changed or set()).difference(ids)
