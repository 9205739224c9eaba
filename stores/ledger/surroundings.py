"""What stands around several records at once: one step along present relations, without reading the records."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from sqlalchemy import Select, and_, bindparam, exists, literal, select, union_all

from stores.ledger import schema
from stores.ledger.encoding import dump_json, to_micros
from stores.ledger.listed import as_json, listed
from stores.ledger.listing import Link, Way
from stores.ledger.relations import present
from stores.ledger.store import Store

_facts = schema.relations
_shown = schema.relations.alias("shown")
_columns = ("origin", "other", "name", "way", "created_at", "relation_id")


class SurroundingReads(Store):
    """Reads of relations of several records."""

    def links_around(
        self, organization_id: str, entity_ids: Iterable[str], *, visibility: frozenset[str], limit: int
    ) -> dict[str, list[Link]]:
        """Return up to `limit` present relations of each entity and direction, the latest first, by the entity's id.

        They and their other ends carry such a key; what is hidden takes no place among them. A relation of an entity to
        itself is left out. The work is in proportion to the ids and the limit, also at a hub.
        """
        ids = sorted(set(entity_ids))
        if not ids:
            return {}
        values = {
            "organization": organization_id,
            "ids": dump_json(list[Any](ids)),
            "visibility": dump_json(list[Any](sorted(visibility))),
            "at": to_micros(self._clock()),
            "limit": limit,
        }
        rows = self._packed(_around(self._database.writer.dialect.name), values)
        found: dict[str, list[Link]] = {}
        there = [row for row in rows if row[1] is not None]
        for origin, other, name, way, *_ in sorted(there, key=lambda row: (-row[4], row[5])):
            found.setdefault(origin, []).append(Link(other, name, way))
        return found


@cache
def _around(dialect: str) -> Select[Any]:
    parts = union_all(*(_towards(dialect, way) for way in ("outgoing", "incoming"))).subquery()
    return select(as_json(dialect, [parts.c[name] for name in _columns]))


def _towards(dialect: str, way: Way) -> Select[Any]:
    """The latest relations of each record in one direction: an index has them in order, so few are read."""
    origins = listed(dialect, "ids").subquery()
    origin = origins.c.value
    near, far = (_facts.c.source_id, _facts.c.target_id)[:: 1 if way == "outgoing" else -1]
    readable = exists().where(
        schema.entities.c.organization_id == bindparam("organization"),
        schema.entities.c.id == far,
        schema.entities.c.visibility.in_(listed(dialect, "visibility")),
    )
    latest = (
        select(_facts.c.id)
        .where(
            _facts.c.organization_id == bindparam("organization"),
            near == origin,
            far != origin,
            _facts.c.visibility.in_(listed(dialect, "visibility")),
            present(),
            readable,
        )
        .order_by(_facts.c.created_at.desc(), _facts.c.id)
        .limit(bindparam("limit"))
        .correlate(origins)
    )
    other = _shown.c.target_id if way == "outgoing" else _shown.c.source_id
    of_organization = _shown.c.organization_id == bindparam("organization")
    # An outer join, because SQLite reads its sides in this order: relations first would mean all there are.
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
