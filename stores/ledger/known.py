"""What was read of records before, kept in step with an organization's feed."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern
from threading import Lock
from typing import Literal, NamedTuple

from stores.ledger.groups import Facets, Group, Kind, Order, Standing, first_of, first_of_groups
from stores.ledger.relations import SUPERSEDES
from stores.ledger.rows import Brief
from stores.records import Change, Position

MOST_ORGANIZATIONS = 64
MOST_RECORDS = 100_000
"""Records of one organization; above that all of them are read again. One takes a third of a kilobyte."""


MOST_BRIEFS, BRIEF_CHARACTERS = 500, 2_000
"""Briefs of one organization that are kept, those that were shown last, and how long their texts may be."""
MOST_LABELS, MOST_LABELLED = 16, 5_000
"""Labels of one organization whose records are kept, those that were asked for last, and how many records each."""
MOST_CHANGED = 2_000
"""Records that are read again one by one when all are asked for; after more changes, a thread reads all anew."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of all records are wanted."""

    visibility: frozenset[str]
    passes: Callable[[Facets], bool]
    has_epic: bool | None
    """Whether it must name an epic that has one of the visibility keys, too; None: it may."""
    among: Collection[str] | None
    """These alone; None: all."""
    order: Order


class Found(NamedTuple):
    """How many records there are, and the first rows in the order unless they are more than `SORTED`."""

    total: int
    rows: list[Standing] | None


SORTED = 10_000
"""As many matches are sorted in memory; where there are more, a page is soon found along an index of the order."""


class _Anything:
    """Holds whatever is asked for."""

    def __contains__(self, _: object) -> bool:
        return True


ANYTHING: Container[str] = _Anything()
"""Stands for more records than are kept."""

Topic = Literal["retirable", "decided"]
"""What some supersession is about, whatever its dates and whoever sees it; raw memories that have an outcome, and what
was captured or reviewed since that was read."""
Label = tuple[str, str]
"""Its kind and its word in lower case."""


@dataclass(slots=True, eq=False)
class _Known:
    position: Position
    rows: dict[str, Standing] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    """The kind of each of the rows; those that are equal are one object, which a thousand looks find in the cache."""
    shared: dict[Kind, Kind] = field(default_factory=dict)
    ids: dict[Topic, Container[str]] = field(default_factory=dict)
    groups: dict[Kind, Group] | None = None
    """All rows by their kind, where those of all records are known but for the changed ones."""
    briefs: OrderedDict[str, Brief] = field(default_factory=OrderedDict)
    labelled: OrderedDict[Label, "_Labelled"] = field(default_factory=OrderedDict)
    changed: set[str] | None = None
    """Records that changed since all were read, or since that began; None where neither is so."""

    def reaches(self, position: Position) -> bool:
        """Tell whether this is as fresh as a position of the same feed; another request may have gone further."""
        return self.position.epoch == position.epoch and self.position.sequence >= position.sequence

    def put(self, row: Standing) -> None:
        """Remember a row."""
        self.drop(row.id)
        kind = Kind(row.visibility, row.facets)
        kind = self.kinds[row.id] = self.shared.setdefault(kind, kind)
        kept = self.rows[row.id] = row._replace(
            entity_type=intern(row.entity_type), visibility=kind.visibility, facets=kind.facets
        )
        if self.groups is not None:
            self.groups.setdefault(kind, Group()).put(kept)

    def change(self, record_id: str) -> None:
        """Forget what has changed."""
        self.drop(record_id)
        self.briefs.pop(record_id, None)
        for label, each in list(self.labelled.items()):
            each.changed.add(record_id)
            if len(each.changed) > MOST_CHANGED:
                del self.labelled[label]
        if self.changed is not None:
            self.changed.add(record_id)

    def drop(self, record_id: str) -> None:
        """Forget a row."""
        self.rows.pop(record_id, None)
        kind = self.kinds.pop(record_id, None)
        if kind is not None and self.groups is not None:
            group = self.groups[kind]
            group.drop(record_id)
            if not group.rows:
                del self.groups[kind]


@dataclass(slots=True, eq=False)
class _Labelled:
    """The records that have one label, as they were before some changed."""

    ids: frozenset[str]
    changed: set[str] = field(default_factory=set)


class KnownRows:
    """Standings by organization and id, each as fresh as a position of the feed. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._heads: OrderedDict[str, tuple[int, Position]] = OrderedDict()

    def head(self, organization_id: str, commits: int) -> Position | None:
        """The head of a feed, if it was read at this number of commits."""
        found = self._heads.get(organization_id)
        return found[1] if found is not None and found[0] == commits else None

    def keep_head(self, organization_id: str, commits: int, head: Position) -> None:
        """Remember the head of a feed that was read at this number of commits, or after it."""
        with self._lock:
            self._heads[organization_id] = commits, head
            self._heads.move_to_end(organization_id)
            if len(self._heads) > MOST_ORGANIZATIONS:
                self._heads.popitem(last=False)

    def position(self, organization_id: str) -> Position | None:
        """How fresh the rows of an organization are; None where there are none."""
        with self._lock:
            known = self._known.get(organization_id)
            return known.position if known is not None else None

    def advance(self, organization_id: str, before: Position | None, to: Position, changes: Collection[Change]) -> None:
        """Forget what changed between two positions; forget all if the first is not where we are."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is not None and known.position == to:
                return
            if known is None or known.position != before:
                known = self._known[organization_id] = _Known(to)
            known.position = to
            decided = known.ids.get("decided")
            if isinstance(decided, frozenset):
                decided |= {each.record_id for each in changes if each.kind == "capture"}
                known.ids["decided"] = decided
                if len(decided) > MOST_RECORDS:
                    del known.ids["decided"]
            for change in changes:
                if change.kind == "entity":
                    known.change(change.record_id)
                elif change.entity_type == SUPERSEDES:
                    known.ids.pop("retirable", None)
            self._known.move_to_end(organization_id)
            if len(self._known) > MOST_ORGANIZATIONS:
                self._known.popitem(last=False)

    def has_room(self) -> bool:
        """Tell whether there is room for the rows of one more organization that nobody has asked for yet."""
        with self._lock:
            return sum(len(known.rows) for known in self._known.values()) <= MOST_RECORDS

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
            whole.position, whole.ids, whole.changed = known.position, known.ids, known.changed
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
        """How many of all records are wanted, and the first of them; None where not the rows of all are known."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.groups is None or known.changed or not known.reaches(position):
                return None
            groups = known.groups
            seen = [(kind, group) for kind, group in groups.items() if kind.visibility in wanted.visibility]
            if wanted.has_epic is not None:
                epics = {each for kind, group in seen if kind.facets.type == "epic" for each in group.rows}
                seen = [pair for pair in seen if (pair[0].facets.epic_id in epics) == wanted.has_epic]
            chosen = [(kind, group) for kind, group in seen if wanted.passes(kind.facets)]
            if wanted.among is None:
                total = sum(len(group.rows) for _, group in chosen)
                few = total <= SORTED
                return Found(total, first_of_groups((group for _, group in chosen), wanted.order) if few else None)
            passing = {id(kind) for kind, _ in chosen}
            kinds = map(known.kinds.get, wanted.among)
            ids = [each for each, kind in zip(wanted.among, kinds, strict=True) if id(kind) in passing]
            rows = list(map(known.rows.__getitem__, ids))
        return Found(len(rows), first_of(rows, wanted.order))

    def ids(self, organization_id: str, position: Position, topic: Topic) -> Container[str] | None:
        """The records of a topic, and perhaps others, at a position or after it; None: not known."""
        with self._lock:
            known = self._known.get(organization_id)
            return known.ids.get(topic) if known is not None and known.reaches(position) else None

    def keep_ids(self, organization_id: str, position: Position, topic: Topic, ids: Container[str]) -> None:
        """Remember which records are of a topic, as read at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is not None and known.position == position:
                known.ids[topic] = ids

    def get(self, organization_id: str, position: Position, ids: Iterable[str]) -> dict[str, Standing]:
        """The rows that are known at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or not known.reaches(position):
                return {}
            rows = known.rows
            return {record_id: rows[record_id] for record_id in ids if record_id in rows}

    def kinds(self, organization_id: str, position: Position, ids: Iterable[str]) -> list[Kind | None]:
        """The kinds of records, in the order of their ids; None where that is not known."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or not known.reaches(position):
                return [None for _ in ids]
            return list(map(known.kinds.get, ids))

    def keep(self, organization_id: str, position: Position, rows: Mapping[str, Standing]) -> None:
        """Remember rows that were read at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.position != position:
                return
            if len(known.rows) + len(rows) > MOST_RECORDS:
                known.rows.clear()
                known.kinds.clear()
                known.shared.clear()
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

    def briefs(self, organization_id: str, position: Position, ids: Iterable[str]) -> dict[str, Brief]:
        """The briefs that are known at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or not known.reaches(position):
                return {}
            found = {each: known.briefs[each] for each in ids if each in known.briefs}
            for each in found:
                known.briefs.move_to_end(each)
            return found

    def keep_briefs(self, organization_id: str, position: Position, briefs: Iterable[tuple[Brief, int]]) -> None:
        """Remember briefs that were read at a position or after it, each with the length of its texts."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.position != position:
                return
            known.briefs.update((each.id, each) for each, length in briefs if length <= BRIEF_CHARACTERS)
            while len(known.briefs) > MOST_BRIEFS:
                known.briefs.popitem(last=False)

    def labelled(
        self, organization_id: str, position: Position, label: Label
    ) -> tuple[frozenset[str], frozenset[str]] | None:
        """The records that have a label, and those of which it is not known any more; None where it never was."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or not known.reaches(position) or label not in known.labelled:
                return None
            known.labelled.move_to_end(label)
            found = known.labelled[label]
            return found.ids - found.changed, frozenset(found.changed)

    def keep_labelled(self, organization_id: str, position: Position, label: Label, ids: Collection[str]) -> None:
        """Remember which records have a label, as read at a position or after it."""
        with self._lock:
            known = self._known.get(organization_id)
            if known is None or known.position != position or len(ids) > MOST_LABELLED:
                return
            rows = known.rows
            # Ids are kept once: as the rows have them.
            known.labelled[label] = _Labelled(frozenset(rows[each].id if each in rows else each for each in ids))
            known.labelled.move_to_end(label)
            while len(known.labelled) > MOST_LABELS:
                known.labelled.popitem(last=False)
