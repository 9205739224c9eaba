"""Relations: facts with transaction and valid time, never overwritten."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    union_all,
)

from stores.clock import new_ordered_uuid
from stores.ledger import schema
from stores.ledger.columns import RecordTable, here, sound
from stores.ledger.encoding import to_micros
from stores.ledger.relation_history import unended
from stores.ledger.rows import Values
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


COUNTED = 10_000
Ways = Literal["outgoing", "incoming", "both"]


@dataclass(frozen=True, slots=True)
class RelationQuery:
    entity_id: str
    visibility: frozenset[str]
    """The other end must be visible, too."""
    name: str | None = None
    ways: Ways = "both"
    include_ended: bool = False
    """Include facts that have ended or not begun."""
    limit: int = 50
    offset: int = 0


class NamedRelation(NamedTuple):
    """A relation with the present names of its ends."""

    relation: Relation
    source_name: str
    target_name: str


@cache
def _listed(ways: Ways, *, named: bool, include_ended: bool) -> CompoundSelect[Any]:
    entity: BindParameter[str] = bindparam("entity")
    organization: BindParameter[str] = bindparam("organization")
    source, target = schema.entities.alias("source"), schema.entities.alias("target")
    shown = (
        select(*RELATIONS.columns, source.c.name.label("source_name"), target.c.name.label("target_name"))
        .join(source, and_(source.c.organization_id == organization, source.c.id == _table.c.source_id))
        .join(target, and_(target.c.organization_id == organization, target.c.id == _table.c.target_id))
        .where(_of_organization, _table.c.visibility.in_(_visible))
    )
    if named:
        shown = shown.where(_table.c.name == bindparam("name"))
    if not include_ended:
        shown = shown.where(present())
    outgoing = shown.where(_table.c.source_id == entity, target.c.visibility.in_(_visible))
    incoming = shown.where(
        _table.c.target_id == entity, _table.c.source_id != entity, source.c.visibility.in_(_visible)
    )
    wanted = {"outgoing": (outgoing,), "incoming": (incoming,), "both": (outgoing, incoming)}[ways]
    parts = [
        part.order_by(_table.c.created_at.desc(), _table.c.id.desc()).limit(bindparam("reach")).subquery().select()
        for part in wanted
    ]
    return union_all(*parts)


@cache
def _page(ways: Ways, *, named: bool, include_ended: bool) -> Select[Any]:
    found = _listed(ways, named=named, include_ended=include_ended).subquery()
    latest = found.select().order_by(found.c.created_at.desc(), found.c.id.desc())
    return latest.limit(bindparam("limit")).offset(bindparam("offset"))


@cache
def _size(ways: Ways, *, named: bool, include_ended: bool) -> Select[Any]:
    found = _listed(ways, named=named, include_ended=include_ended).subquery()
    return select(func.count()).select_from(found)


_origin = listed("ids").subquery().c.value
_linked = select(_origin).where(
    or_(*(exists().where(here(_table), end == _origin) for end in (_table.c.source_id, _table.c.target_id)))
)


class RelationReads(Store):
    def list_relations(self, organization_id: str, query: RelationQuery) -> tuple[list[NamedRelation], int]:
        """Return a page of relations, latest first, and their number, up to `COUNTED`."""
        how = {"named": query.name is not None, "include_ended": query.include_ended}
        values: Values = {
            "organization": organization_id,
            "entity": query.entity_id,
            "visibility": sorted(query.visibility),
            "name": query.name,
            "at": to_micros(self._clock()),
        }
        end = query.offset + query.limit
        rows = self._all(
            _page(query.ways, **how), values | {"reach": end, "limit": query.limit, "offset": query.offset}
        )
        counted = self._first(_size(query.ways, **how), values | {"reach": COUNTED})
        page = sound(rows, lambda row: NamedRelation(to_relation(row), row.source_name, row.target_name))
        return page, min(counted[0] if counted else 0, COUNTED)

    def by_ids(self, organization_id: str, relation_ids: Iterable[str]) -> dict[str, Relation]:
        """Return the existing, readable relations by id."""
        rows = self._packed(_packed_by_ids, {"organization": organization_id, "ids": json_list(relation_ids)})
        return {relation.id: relation for relation in sound(rows, to_relation)}

    def linked(self, organization_id: str, entity_ids: Iterable[str]) -> set[str]:
        """Return the entities with any relation, even an ended one."""
        values = {"organization": organization_id, "ids": json_list(entity_ids)}
        return {row[0] for row in self._all(_linked, values)}

    def relation_ids(self, organization_id: str) -> set[str]:
        return {row[0] for row in self._all(_ids, {"organization": organization_id})}
