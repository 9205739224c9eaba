"""Relations: facts with transaction and valid time, never overwritten; their earlier ends; which fact ends which."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sql

from stores.clock import new_ordered_uuid
from stores.ledger import schema
from stores.ledger.columns import RecordTable, among, here, json_list, listed, sound, visible
from stores.ledger.encoding import from_micros, optional_instant, to_micros
from stores.ledger.store import AsJson, Store
from stores.records import ORGANIZATION, JsonObject, Relation

_table = schema.relations
_ends = schema.relation_ends
_earlier = (
    sql.select(_ends.c.relation_id, _ends.c.known_from, _ends.c.known_to, _ends.c.known_invalid_at)
    .where(here(_ends), among(_ends.c.relation_id), _ends.c.known_from <= sql.bindparam("known", type_=sql.BigInteger))
    .order_by(_ends.c.relation_id, _ends.c.known_from)
)


class EarlierEnd(NamedTuple):
    known_from: datetime
    known_to: datetime
    invalid_at: datetime | None
    """None: no end."""


def believed(known: sql.BindParameter[int]) -> sql.ColumnElement[bool]:
    """Return the SQL condition for the row of `relation_ends` known at a moment, one per relation at most."""
    of_relation = (_ends.c.organization_id == _table.c.organization_id, _ends.c.relation_id == _table.c.id)
    return sql.and_(*of_relation, _ends.c.known_from <= known, _ends.c.known_to > known)


SINGLE_VALUED = frozenset({"BELONGS_TO", "PART_OF", "CHILD_OF"})
"""One at a time per type of target: a new one ends the one before."""


class End(NamedTuple):
    entity_type: str
    visibility: str


Ends = Mapping[str, End]
MayEnd = Callable[[frozenset[str], frozenset[str]], bool]
"""Tell whether a fact with the first keys may end one with the second: its readers must include all of the other's."""


def has_its_readers(ender: frozenset[str], ended: frozenset[str]) -> bool:
    """Return whether all readers of one fact may read the other, judging by keys."""
    return ender <= ended | {ORGANIZATION}


def holds(relation: Relation, now: datetime) -> bool:
    """Return whether a fact has not ended; it may not have begun."""
    return relation.expired_at is None and (relation.invalid_at is None or relation.invalid_at > now)


def ended_by(
    fresh: Relation, next_at: datetime | None, rivals: Collection[Relation], ends: Ends, now: datetime, may_end: MayEnd
) -> list[Relation]:
    """Return the rivals (same source and name) that a single-valued fact ends.

    A lasting fact ends those that hold. One that is over ends those that ended at `next_at` (of `succeeded_at`), as it
    does, only because it was unknown.
    """

    def is_wrong(old: Relation) -> bool:
        if holds(fresh, now):
            return holds(old, now) and _overlap(fresh, old)
        return (
            next_at is not None and fresh.invalid_at == old.invalid_at == next_at and old.target_id != fresh.target_id
        )

    return [old for old in rivals if is_wrong(old) and _follows(fresh, old, ends, may_end)]


def succeeded_at(
    fresh: Relation, rivals: Collection[Relation], ends: Ends, now: datetime, may_end: MayEnd
) -> datetime | None:
    """Return when the fact after a late one begins.

    The lasting fact counts, and those before it that each ended where the next one began.
    """
    found: set[datetime] = set()
    for each in sorted(rivals, key=lambda rival: rival.valid_at, reverse=True):
        if each.valid_at <= fresh.valid_at:
            break
        leads_on = holds(each, now) or each.invalid_at in found
        was_true = each.invalid_at is None or each.invalid_at > each.valid_at
        if leads_on and was_true and _follows(each, fresh, ends, may_end):
            found.add(each.valid_at)
    return min(found, default=None)


def _overlap(one: Relation, other: Relation) -> bool:
    return (other.invalid_at is None or other.invalid_at > one.valid_at) and (
        one.invalid_at is None or one.invalid_at > other.valid_at
    )


def _follows(ender: Relation, ended: Relation, ends: Ends, may_end: MayEnd) -> bool:
    target, earlier = ends[ender.target_id], ends[ended.target_id]
    of_ended = frozenset({ended.visibility, ends[ended.source_id].visibility, earlier.visibility})
    return target.entity_type == earlier.entity_type and may_end(
        frozenset({ender.visibility, target.visibility}), of_ended
    )


SUPERSEDES = "SUPERSEDES"
STATES = '{"from":'
"""Provenance prefix of a stated relation, whose visibility follows from its ends."""


def between(source: str, target: str) -> str:
    """Return the visibility of a stated relation: the source's, or the target's if the source is public."""
    return target if source == ORGANIZATION else source


@dataclass(slots=True)
class RelationDraft:
    """Not frozen: that takes three times as long to create."""

    name: str
    source_id: str
    target_id: str
    fact: str = ""
    visibility: str = ORGANIZATION
    valid_at: datetime | None = None
    """Valid from; None: now."""
    invalid_at: datetime | None = None
    provenance: JsonObject = field(default_factory=dict)
    id: str = field(default_factory=new_ordered_uuid)


RELATIONS = RecordTable(schema.relations, Relation)
to_relation = RELATIONS.read

_at = sql.bindparam("at", type_=sql.BigInteger)
is_open = _table.c.expired_at.is_(None)
is_lasting = sql.or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at)
has_begun = sql.or_(_table.c.valid_at <= _at, _table.c.valid_at <= _table.c.created_at)
"""The clock may have been set back."""
is_present = sql.and_(is_open, has_begun, is_lasting)
_still = sql.or_(_ends.c.known_invalid_at.is_(None), _ends.c.known_invalid_at > _at)
held_then = sql.and_(
    _table.c.created_at <= _at,
    _table.c.valid_at <= _at,
    sql.or_(
        sql.and_(sql.or_(_table.c.expired_at > _at, sql.and_(is_open, is_lasting)), ~sql.exists().where(believed(_at))),
        sql.exists().where(believed(_at), _ends.c.known_expired_at.is_(None), _still),
    ),
)
"""True at `at`, as known then."""
_of_organization = here(_table)


def readable_end(end: sql.Column[str]) -> sql.ColumnElement[bool]:
    """Return the SQL condition: the entity at this end has one of the visibility keys."""
    entities = schema.entities
    return sql.exists().where(here(entities), entities.c.id == end, visible(entities))


_packed_by_ids = sql.select(AsJson(*RELATIONS.columns)).where(_of_organization, among(_table.c.id))
_ids = sql.select(_table.c.id).where(_of_organization)

_hidden = sql.select(schema.entities.c.id).where(here(schema.entities), ~visible(schema.entities))
# Hidden ids are read once from an index: looking up both ends of each relation takes twenty times as long.
_relation_counts = (
    sql.select(_table.c.name, sql.func.count())
    .where(
        here(_table),
        visible(_table),
        _table.c.source_id.not_in(_hidden),
        _table.c.target_id.not_in(_hidden),
        is_present,
    )
    .group_by(_table.c.name)
    .order_by(_table.c.name)
)
_origin = listed("ids").subquery().c.value
_linked = sql.select(_origin).where(
    sql.or_(*(sql.exists().where(here(_table), end == _origin) for end in (_table.c.source_id, _table.c.target_id)))
)


class RelationReads(Store):
    def by_ids(self, organization_id: str, relation_ids: Iterable[str]) -> dict[str, Relation]:
        rows = self._packed(_packed_by_ids, {"organization": organization_id, "ids": json_list(relation_ids)})
        return {relation.id: relation for relation in sound(rows, to_relation)}

    def linked(self, organization_id: str, entity_ids: Iterable[str]) -> set[str]:
        """Return the entities with any relation, even an ended one."""
        values = {"organization": organization_id, "ids": json_list(entity_ids)}
        return {row[0] for row in self._all(_linked, values)}

    def relation_ids(self, organization_id: str) -> set[str]:
        return {row[0] for row in self._all(_ids, {"organization": organization_id})}

    def relation_counts(self, organization_id: str, visibility: frozenset[str]) -> dict[str, int]:
        at = to_micros(self._clock())
        values = {"organization": organization_id, "visibility": json_list(visibility), "at": at}
        return {row[0]: row[1] for row in self._all(_relation_counts, values)}

    def earlier_ends(
        self, organization_id: str, relation_ids: Iterable[str], known_at: datetime | None = None
    ) -> dict[str, list[EarlierEnd]]:
        """Return the ends known before the present one (or that of a moment), oldest first."""
        at = to_micros(self._clock() if known_at is None else known_at)
        found: defaultdict[str, list[EarlierEnd]] = defaultdict(list)
        values = {"organization": organization_id, "ids": json_list(relation_ids), "known": at}
        for relation_id, known_from, known_to, invalid_at in self._all(_earlier, values):
            # The end known at the moment itself is its present one.
            if known_at is None or known_to <= at:
                end = EarlierEnd(from_micros(known_from), from_micros(known_to), optional_instant(invalid_at))
                found[relation_id].append(end)
        return dict(found)
