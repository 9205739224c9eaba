"""Facts over time: which relations held at a moment, every version of them, and what was called off."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    FromClause,
    Select,
    and_,
    bindparam,
    exists,
    or_,
    select,
    true,
    union_all,
)

from stores.ledger import schema
from stores.ledger.encoding import to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.relations import SUPERSEDES, relation_columns, to_relation
from stores.ledger.rows import Values
from stores.ledger.store import Store
from stores.records import Relation

Mode = Literal["history", "timeline", "conflicts"]


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Which relations to read; both ends and the relation must carry one of the visibility keys, now and at `as_of`."""

    mode: Mode
    visibility: frozenset[str]
    limit: int
    entity_id: str | None = None
    as_of: datetime | None = None
    """The moment asked about; None: the present."""
    known_at: datetime | None = None
    """What was known at this moment; None: at `as_of`."""
    include_ended: bool = False
    """In a history also what had ended by then."""


_table = schema.relations
_past = schema.entity_revisions
_at = bindparam("at", type_=BigInteger)
_known = bindparam("known", type_=BigInteger)
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)
_ids: BindParameter[list[str]] = bindparam("ids", expanding=True)
_open = _table.c.expired_at.is_(None)
_lasting = or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at)
_begun = or_(_table.c.valid_at <= _at, _table.c.valid_at <= _table.c.created_at)
"""Since the clock may have been set back, what was true when it was recorded needs no clock to have begun."""
_recorded = _table.c.created_at <= _known


class HistoryReads(Store):
    """Reads of relations by the times when they were known and true."""

    def relation_history(self, organization_id: str, query: HistoryQuery) -> list[Relation]:
        """Return the latest of the relations that a query describes: last known first, then by id from behind.

        As known at a moment, a relation that was closed later had no end yet. One that was closed before did not hold
        from its closing or its `invalid_at` on, whichever came first.
        """
        now = self._clock() if query.as_of is None else query.as_of
        values: Values = {
            "organization": organization_id,
            "entity": query.entity_id,
            "visibility": sorted(query.visibility),
            "limit": query.limit,
            "at": to_micros(now),
            "known": to_micros(query.known_at or now),
        }
        is_past = query.as_of is not None or query.known_at is not None
        statement = _history(query.mode, query.entity_id is not None, is_past, query.include_ended)
        return [to_relation(row) for row in self._all(statement, values)]

    def entity_names(
        self, organization_id: str, entity_ids: Iterable[str], as_of: datetime | None = None
    ) -> dict[str, str]:
        """Return what entities are called, or were called at a moment, by id; what came later has today's name."""
        names: dict[str, str] = {}
        for ids in in_chunks(entity_ids):
            values: Values = {"organization": organization_id, "ids": ids}
            names |= {row[0]: row[1] for row in self._all(_names, values)}
            if as_of is not None:
                past = self._all(_past_names, values | {"at": to_micros(as_of)})
                names |= {row[0]: row[1] for row in past if row[0] in names}
        return names


_names = select(schema.entities.c.id, schema.entities.c.name).where(
    schema.entities.c.organization_id == bindparam("organization"), schema.entities.c.id.in_(_ids)
)
_past_names = select(_past.c.id, _past.c.name).where(
    _past.c.organization_id == bindparam("organization"),
    _past.c.id.in_(_ids),
    _past.c.valid_from <= _at,
    _past.c.valid_to > _at,
)


@cache
def _history(mode: Mode, of_entity: bool, is_past: bool, include_ended: bool) -> Select[Any]:
    """Return the query. Of one entity, the edges of each direction are walked by an index of their own.

    So the work ends with the limit, however many edges the entity has.
    """
    matching = and_(
        _table.c.organization_id == bindparam("organization"),
        _table.c.visibility.in_(_visible),
        _times(mode, is_past=is_past, include_ended=include_ended),
        *(_readable(end, is_past=is_past) for end in (_table.c.source_id, _table.c.target_id)),
    )
    if not of_entity:
        return _latest(select(*relation_columns()).where(matching), _table)
    entity: BindParameter[str] = bindparam("entity")
    outgoing = select(*relation_columns()).where(matching, _table.c.source_id == entity)
    incoming = select(*relation_columns()).where(matching, _table.c.target_id == entity, _table.c.source_id != entity)
    parts = [_latest(part, _table).subquery().select() for part in (outgoing, incoming)]
    both = union_all(*parts).subquery()
    return _latest(both.select(), both)


def _latest(query: Select[Any], table: FromClause) -> Select[Any]:
    return query.order_by(table.c.created_at.desc(), table.c.id.desc()).limit(bindparam("limit"))


def _times(mode: Mode, *, is_past: bool, include_ended: bool) -> ColumnElement[bool]:
    if mode == "history":
        return _then(include_ended) if is_past else _now(include_ended)
    if mode == "timeline":
        return _recorded if is_past else true()
    retired = and_(_table.c.name == SUPERSEDES, _table.c.valid_at <= _at if is_past else _begun)
    ended = _table.c.invalid_at <= _at
    if is_past:
        return and_(schema.MAY_CONFLICT, _recorded, or_(_table.c.expired_at <= _known, and_(_open, ended), retired))
    return and_(schema.MAY_CONFLICT, or_(_table.c.expired_at.is_not(None), ended, retired))


def _now(include_ended: bool) -> ColumnElement[bool]:
    return _begun if include_ended else and_(_begun, _open, _lasting)


def _then(include_ended: bool) -> ColumnElement[bool]:
    begun = and_(_recorded, _table.c.valid_at <= _at)
    if include_ended:
        return begun
    not_closed = or_(_open, _table.c.expired_at > _at)
    return and_(begun, or_(_table.c.expired_at > _known, and_(not_closed, _lasting)))


def _readable(end: Column[str], *, is_past: bool) -> ColumnElement[bool]:
    """Return the condition that an end may be read; at a moment, its revision of then, too."""
    entities = schema.entities
    now = exists().where(
        entities.c.organization_id == bindparam("organization"),
        entities.c.id == end,
        entities.c.visibility.in_(_visible),
    )
    if not is_past:
        return now
    hidden = exists().where(
        _past.c.organization_id == bindparam("organization"),
        _past.c.id == end,
        _past.c.valid_from <= _at,
        _past.c.valid_to > _at,
        _past.c.visibility.not_in(_visible),
    )
    return and_(now, ~hidden)
