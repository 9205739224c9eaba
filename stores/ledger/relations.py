"""Relations: facts between entities, with the time we knew them and the time they were true. Never overwritten."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    and_,
    bindparam,
    case,
    exists,
    or_,
    select,
)

from stores.clock import new_uuid
from stores.ledger import schema
from stores.ledger.encoding import (
    from_micros,
    load_object,
    optional_instant,
    to_micros,
)
from stores.ledger.engine import in_chunks
from stores.ledger.rows import Values
from stores.ledger.store import Store
from stores.records import ORGANIZATION, JsonObject, Relation

SUPERSEDES = "SUPERSEDES"
STATED: JsonObject = {"from": "related_to"}
"""The provenance of a relation that its source states in `related_to`."""
STATES = '{"from":'
"""How the provenance of what is stated begins: who may read it follows from who may read its two ends."""


def between(source: str, target: str) -> str:
    """Return the visibility of what one record states of another: its own, or the other's where it is everybody's.

    One key cannot say that both ends must be readable: readers of relations ask for that, too.
    """
    return target if source == ORGANIZATION else source


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A fact that a caller wants to be stored; the ledger adds who and when."""

    name: str
    source_id: str
    target_id: str
    fact: str = ""
    visibility: str = ORGANIZATION
    valid_at: datetime | None = None
    """When it became true; None: now."""
    invalid_at: datetime | None = None
    provenance: JsonObject = field(default_factory=dict)
    id: str = field(default_factory=new_uuid)


_RELATION_COLUMNS = (
    "organization_id",
    "id",
    "name",
    "source_id",
    "target_id",
    "fact",
    "created_at",
    "expired_at",
    "valid_at",
    "invalid_at",
    "visibility",
    "principal_id",
    "provenance",
)


def relation_columns() -> list[Column[Any]]:
    """Return the columns that `to_relation` reads."""
    return [schema.relations.c[name] for name in _RELATION_COLUMNS]


def to_relation(row: Sequence[Any]) -> Relation:
    """Return the relation of a row of `relation_columns`."""
    cells: list[Any] = list(row)
    cells[6:8] = from_micros(cells[6]), optional_instant(cells[7])
    cells[8:10] = from_micros(cells[8]), optional_instant(cells[9])
    cells[12] = load_object(cells[12])
    return Relation(*cells)


_table = schema.relations
_at = bindparam("at", type_=BigInteger)


def holds() -> ColumnElement[bool]:
    """Return the condition on `at`: known at that time, and true at that time."""
    return and_(
        _table.c.created_at <= _at,
        or_(_table.c.expired_at.is_(None), _table.c.expired_at > _at),
        _table.c.valid_at <= _at,
        or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at),
    )


def present() -> ColumnElement[bool]:
    """Return the condition on `at`, the present: not closed, and true now.

    What was true when it was recorded has begun, and what was closed is closed, also where the clock was set back.
    """
    return and_(
        _table.c.expired_at.is_(None),
        or_(_table.c.valid_at <= _at, _table.c.valid_at <= _table.c.created_at),
        or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at),
    )


_of_organization = _table.c.organization_id == bindparam("organization")
_touching = (
    select(*relation_columns())
    .where(_of_organization, or_(_table.c.source_id == bindparam("entity"), _table.c.target_id == bindparam("entity")))
    .order_by(_table.c.created_at.desc(), _table.c.id)
    .limit(bindparam("limit"))
)
_touching_then = _touching.where(holds())
touching_now = _touching.where(present())
"""The relations of an `entity` that hold `at` the present, up to a `limit`, the latest first."""
_other = case((_table.c.source_id == bindparam("entity"), _table.c.target_id), else_=_table.c.source_id)
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)
_readable = and_(
    _table.c.visibility.in_(_visible),
    exists().where(
        schema.entities.c.organization_id == bindparam("organization"),
        schema.entities.c.id == _other,
        schema.entities.c.visibility.in_(_visible),
    ),
)
_readable_now = touching_now.where(_readable)
_readable_then = _touching_then.where(_readable)
_by_ids = select(*relation_columns()).where(_of_organization, _table.c.id.in_(bindparam("ids", expanding=True)))
_ends = select(_table.c.source_id, _table.c.target_id).where(
    _of_organization,
    or_(
        _table.c.source_id.in_(bindparam("ids", expanding=True)),
        _table.c.target_id.in_(bindparam("ids", expanding=True)),
    ),
)
_ids = select(_table.c.id).where(_of_organization)
NO_LIMIT = 2**31 - 1


class RelationReads(Store):
    """Reads of relations."""

    def relations_of(
        self,
        organization_id: str,
        entity_id: str,
        *,
        at: datetime | None = None,
        history: bool = False,
        limit: int = NO_LIMIT,
    ) -> list[Relation]:
        """Return the relations from or to an entity that hold at a time (None: now), the latest first.

        With `history`, all of them, those that ended and those that `at` would hide too. Who may see them is the
        caller's business.
        """
        values: Values = {"organization": organization_id, "entity": entity_id, "limit": limit}
        if history:
            return [to_relation(row) for row in self._all(_touching, values)]
        rows = self._all(touching_now if at is None else _touching_then, values | {"at": self._micros(at)})
        return [to_relation(row) for row in rows]

    def readable_relations_of(
        self,
        organization_id: str,
        entity_id: str,
        *,
        visibility: frozenset[str],
        at: datetime | None = None,
        limit: int,
    ) -> list[Relation]:
        """Return the latest relations that hold at a time (None: now) and that, like their other end, carry such a key.

        What is hidden takes no place among them: they are chosen before they are limited.
        """
        values = {"organization": organization_id, "entity": entity_id, "limit": limit, "at": self._micros(at)}
        statement = _readable_now if at is None else _readable_then
        rows = self._all(statement, values | {"visibility": sorted(visibility)})
        return [to_relation(row) for row in rows]

    def relations(self, organization_id: str, relation_ids: Iterable[str]) -> dict[str, Relation]:
        """Return those relations that exist, by id."""
        rows = (
            row
            for ids in in_chunks(relation_ids)
            for row in self._all(_by_ids, {"organization": organization_id, "ids": ids})
        )
        return {relation.id: relation for relation in map(to_relation, rows)}

    def linked(self, organization_id: str, entity_ids: Iterable[str]) -> set[str]:
        """Return those of the entities that any relation touches, an ended one too: the others need no graph."""
        wanted = set(entity_ids)
        rows = (
            row for ids in in_chunks(wanted) for row in self._all(_ends, {"organization": organization_id, "ids": ids})
        )
        return wanted.intersection(end for row in rows for end in row)

    def relation_ids(self, organization_id: str) -> set[str]:
        """Return the id of every relation, ended ones too."""
        return {row[0] for row in self._all(_ids, {"organization": organization_id})}

    def _micros(self, at: datetime | None) -> int:
        return to_micros(self._clock() if at is None else at)
