"""Links: present relations seen from one end, without reading the records."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from sqlalchemy import Select, and_, bindparam, literal, select, union_all

from stores.ledger import schema
from stores.ledger.columns import here
from stores.ledger.encoding import to_micros
from stores.ledger.filters import EntityQuery
from stores.ledger.json_sql import AsJson, json_list, listed
from stores.ledger.listing import conditions
from stores.ledger.relations import present, readable_end
from stores.ledger.store import Store

_entities = schema.entities
_facts = schema.relations
_shown = schema.relations.alias("shown")
Way = Literal["outgoing", "incoming"]
Names = Mapping[Way, frozenset[str] | None]
"""Wanted names by direction; None means all."""


class Link(NamedTuple):
    """A fact seen from one end."""

    id: str
    name: str
    way: Way


_columns = ("origin", "other", "name", "way", "created_at", "relation_id")


def _towards(way: Way) -> Select[Any]:
    origins = listed("ids").subquery()
    origin = origins.c.value
    near, far = (_facts.c.source_id, _facts.c.target_id)[:: 1 if way == "outgoing" else -1]
    latest = (
        select(_facts.c.id)
        .where(
            here(_facts),
            near == origin,
            far != origin,
            _facts.c.visibility.in_(listed("visibility")),
            present(),
            readable_end(far, listed("visibility")),
        )
        .order_by(_facts.c.created_at.desc(), _facts.c.id)
        .limit(bindparam("limit"))
        .correlate(origins)
    )
    other = _shown.c.target_id if way == "outgoing" else _shown.c.source_id
    of_organization = here(_shown)
    # An outer join fixes the order for SQLite, which would else read all relations first.
    return (
        select(
            origin.label("origin"),
            other.label("other"),
            _shown.c.name,
            literal(way).label("way"),
            _shown.c.created_at,
            _shown.c.id.label("relation_id"),
        )
        .select_from(origins)
        .join(_shown, and_(of_organization, _shown.c.id.in_(latest)), isouter=True)
    )


_parts = union_all(_towards("outgoing"), _towards("incoming")).subquery()
_around = select(AsJson(*(_parts.c[name] for name in _columns)))


class SurroundingReads(Store):
    def links_to_matching(
        self, organization_id: str, entity_id: str, query: EntityQuery, names: Names, limit: int
    ) -> list[Link]:
        """Return present facts between an entity and those matching a query, by `valid_at` descending."""
        parts = [_links(organization_id, entity_id, query, way, wanted) for way, wanted in names.items()]
        if not parts:
            return []
        found = union_all(*parts).subquery()
        latest = found.select().order_by(found.c.valid_at.desc(), found.c.relation_id).limit(limit)
        return [Link(row.id, row.name, row.way) for row in self._all(latest, {"at": to_micros(self._clock())})]

    def links_around(
        self, organization_id: str, entity_ids: Iterable[str], *, visibility: frozenset[str], limit: int
    ) -> dict[str, list[Link]]:
        """Return the latest `limit` visible relations of each entity and direction, but no loops, by entity."""
        values = {
            "organization": organization_id,
            "ids": json_list(entity_ids),
            "visibility": json_list(visibility),
            "at": to_micros(self._clock()),
            "limit": limit,
        }
        found: dict[str, list[Link]] = {}
        there = [row for row in self._packed(_around, values) if row[1] is not None]
        for origin, other, name, way, *_ in sorted(there, key=lambda row: (-row[4], row[5])):
            found.setdefault(origin, []).append(Link(other, name, way))
        return found


def _links(
    organization_id: str, entity_id: str, query: EntityQuery, way: Way, wanted: frozenset[str] | None
) -> Select[Any]:
    near, far = (_facts.c.source_id, _facts.c.target_id)[:: 1 if way == "outgoing" else -1]
    found = select(
        far.label("id"), _facts.c.name, literal(way).label("way"), _facts.c.valid_at, _facts.c.id.label("relation_id")
    ).join(_entities, and_(_entities.c.organization_id == _facts.c.organization_id, _entities.c.id == far))
    found = found.where(
        _facts.c.organization_id == organization_id,
        near == entity_id,
        far != entity_id,
        _facts.c.visibility.in_(sorted(query.visibility)),
        present(),
        *conditions(organization_id, query),
    )
    return found if wanted is None else found.where(_facts.c.name.in_(sorted(wanted)))
