"""Relations: facts with transaction and valid time, never overwritten."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, BindParameter, Column, ColumnElement, and_, bindparam, exists, func, or_, select

from stores.clock import new_ordered_uuid
from stores.ledger import schema
from stores.ledger.columns import RecordTable, here, sound
from stores.ledger.encoding import to_micros
from stores.ledger.relation_history import unended
from stores.ledger.store import AsJson, Store, json_list, listed
from stores.records import ORGANIZATION, JsonObject, Relation

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

_table = schema.relations
_at = bindparam("at", type_=BigInteger)


def holds() -> ColumnElement[bool]:
    """Return the SQL condition: true at `at`, as known then."""
    return and_(_table.c.created_at <= _at, _table.c.valid_at <= _at, unended(_at))


def present() -> ColumnElement[bool]:
    """Return the SQL condition: true at `at`, the present, even if the clock was set back."""
    return and_(
        _table.c.expired_at.is_(None),
        or_(_table.c.valid_at <= _at, _table.c.valid_at <= _table.c.created_at),
        or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at),
    )


_of_organization = here(_table)
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)


def readable_end(end: Column[str], keys: Any = _visible) -> ColumnElement[bool]:  # noqa: ANN401, RUF100  (of an IN)
    """Return the SQL condition: the entity at this end has one of the visibility keys."""
    entities = schema.entities.c
    return exists().where(
        entities.organization_id == bindparam("organization"), entities.id == end, entities.visibility.in_(keys)
    )


_packed_by_ids = select(AsJson(*RELATIONS.columns)).where(_of_organization, _table.c.id.in_(listed("ids")))
_ids = select(_table.c.id).where(_of_organization)

_hidden = select(schema.entities.c.id).where(here(schema.entities), ~schema.entities.c.visibility.in_(_visible))
# Hidden ids are read once from an index: looking up both ends of each relation takes twenty times as long.
_relation_counts = (
    select(_table.c.name, func.count())
    .where(
        here(_table),
        _table.c.visibility.in_(_visible),
        _table.c.source_id.not_in(_hidden),
        _table.c.target_id.not_in(_hidden),
        present(),
    )
    .group_by(_table.c.name)
    .order_by(_table.c.name)
)
_origin = listed("ids").subquery().c.value
_linked = select(_origin).where(
    or_(*(exists().where(here(_table), end == _origin) for end in (_table.c.source_id, _table.c.target_id)))
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
        values = {"organization": organization_id, "visibility": sorted(visibility), "at": at}
        return {row[0]: row[1] for row in self._all(_relation_counts, values)}
