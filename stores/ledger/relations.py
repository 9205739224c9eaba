"""Relations: facts with transaction and valid time, never overwritten; their earlier ends."""

from collections import defaultdict
from collections.abc import Iterable
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


SUPERSEDES = "SUPERSEDES"


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
        return {relation.id: relation for relation in sound(rows, RELATIONS.read)}

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
