"""Facts over time: valid relations, their versions and ends at a moment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Literal, NamedTuple

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
    func,
    or_,
    select,
    true,
    union_all,
)

from stores.ledger import schema
from stores.ledger.columns import beside, here, sound
from stores.ledger.encoding import optional_instant, to_micros
from stores.ledger.json_sql import AsJson, json_list, listed
from stores.ledger.relation_history import believed, expired_then, invalid_then
from stores.ledger.relations import RELATIONS, SUPERSEDES, readable_end, to_relation
from stores.ledger.rows import Values
from stores.ledger.store import Store
from stores.records import Relation

_NO_LIMIT = 2**31 - 1
Mode = Literal["history", "timeline", "conflicts"]


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Relation and ends must be visible, now and at `as_of`."""

    mode: Mode
    visibility: frozenset[str]
    limit: int
    entity_id: str | None = None
    as_of: datetime | None = None
    """Valid time; None: now."""
    known_at: datetime | None = None
    """Transaction time; None: `as_of`."""
    include_ended: bool = False


_table = schema.relations
_ends = schema.relation_ends
_revisions = schema.entity_revisions
_at = bindparam("at", type_=BigInteger)
_known = bindparam("known", type_=BigInteger)
_visible: BindParameter[list[str]] = bindparam("visibility", expanding=True)
_invalid_then, _expired_then = invalid_then(_known), expired_then(_known)
_ended_then = select(_ends.c.relation_id).where(
    here(_ends), _ends.c.known_from <= _known, _ends.c.known_to > _known, _ends.c.known_invalid_at <= _at
)
_changed = exists().where(believed(_known, _ends.alias("former")))
_today = (_table.c.expired_at.label("expired_today"), _table.c.invalid_at.label("invalid_today"))
_open = _table.c.expired_at.is_(None)
_lasting = or_(_table.c.invalid_at.is_(None), _table.c.invalid_at > _at)
_begun = or_(_table.c.valid_at <= _at, _table.c.valid_at <= _table.c.created_at)
"""The clock may have been set back."""


_entities = schema.entities
_name_then = (
    select(_revisions.c.name)
    .where(beside(_revisions.c.id, _entities.c.id), _revisions.c.valid_from <= _at, _revisions.c.valid_to > _at)
    .limit(1)
    .scalar_subquery()
)
_names_now, _names_then = (
    select(AsJson(_entities.c.id, name)).where(here(_entities), _entities.c.id.in_(listed("ids")))
    for name in (_entities.c.name, func.coalesce(_name_then, _entities.c.name))
)


class Recalled(NamedTuple):
    then: Relation
    today: Relation


class HistoryReads(Store):
    def relation_history(self, organization_id: str, query: HistoryQuery) -> list[Recalled]:
        """Return the latest matching relations, by transaction time and id, descending.

        A version has the end known at that moment: none or the announced one, if closed later. One closed before did
        not hold after its closing or its `invalid_at`, whichever came first.
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
        return sound(self._all(statement, values), _recalled)

    def entity_names(
        self, organization_id: str, entity_ids: Iterable[str], as_of: datetime | None = None
    ) -> dict[str, str]:
        """Return entity names by id, of a moment or now."""
        values: Values = {"organization": organization_id, "ids": json_list(entity_ids)}
        if as_of is None:
            return dict(self._packed(_names_now, values))
        return dict(self._packed(_names_then, values | {"at": to_micros(as_of)}))


def _recalled(row: Sequence[Any]) -> Recalled:
    then, *today = to_relation(row), *map(optional_instant, row[-2:])
    if today == [then.expired_at, then.invalid_at]:
        return Recalled(then, then)
    return Recalled(then, replace(then, expired_at=today[0], invalid_at=today[1]))


@cache
def _history(mode: Mode, of_entity: bool, is_past: bool, include_ended: bool) -> Select[Any]:
    asked = _past(mode, include_ended) if is_past else _present(mode, include_ended)
    entity: BindParameter[str] = bindparam("entity")
    ways: tuple[tuple[ColumnElement[bool], ...], ...] = ((),)
    if of_entity:
        ways = ((_table.c.source_id == entity,), (_table.c.target_id == entity, _table.c.source_id != entity))
    parts = [_latest(asked.where(*way), _table) for way in ways]
    if is_past and mode == "conflicts":
        parts += [_withdrawn().where(*way) for way in ways]
    if len(parts) == 1:
        return parts[0]
    found = union_all(*(part.subquery().select() for part in parts)).subquery()
    return _latest(found.select(), found)


def _latest(query: Select[Any], table: FromClause) -> Select[Any]:
    return query.order_by(table.c.created_at.desc(), table.c.id.desc()).limit(bindparam("limit"))


def _present(mode: Mode, include_ended: bool) -> Select[Any]:
    match mode:
        case "history":
            times = _begun if include_ended else and_(_begun, _open, _lasting)
        case "timeline":
            times = true()
        case "conflicts":
            retired = and_(_table.c.name == SUPERSEDES, _begun)
            times = and_(schema.MAY_CONFLICT, or_(~_open, _table.c.invalid_at <= _at, retired))
    return select(*RELATIONS.columns, *_today).where(*_readable(is_past=False), times)


def _known_then(joined: FromClause, *conditions: ColumnElement[bool]) -> Select[Any]:
    then = {"expired_at": _expired_then.label("expired_at"), "invalid_at": _invalid_then.label("invalid_at")}
    columns = [then.get(column.name, column) for column in RELATIONS.columns]
    return select(*columns, *_today).select_from(joined).where(*conditions, *_readable(is_past=True))


def _past(mode: Mode, include_ended: bool) -> Select[Any]:
    recorded, begun = _table.c.created_at <= _known, _table.c.valid_at <= _at
    joined = _table.outerjoin(_ends, believed(_known))
    match mode:
        case "history" if include_ended:
            return _known_then(joined, recorded, begun)
        case "history":
            not_closed = or_(_expired_then.is_(None), _expired_then > _at)
            lasting = and_(not_closed, or_(_invalid_then.is_(None), _invalid_then > _at))
            unended = and_(or_(_open, _table.c.expired_at > _at), _lasting)
            possible = or_(_table.c.expired_at > _known, unended, _changed)
            return _known_then(joined, recorded, begun, possible).where(lasting)
        case "timeline":
            return _known_then(joined, recorded)
        case "conflicts":
            retired = and_(_table.c.name == SUPERSEDES, begun)
            possible = or_(_table.c.expired_at <= _known, _table.c.invalid_at <= _at, retired, _changed)
            called_off = or_(_expired_then.is_not(None), _invalid_then <= _at, retired)
            return _known_then(joined, recorded, and_(schema.MAY_CONFLICT, possible)).where(called_off)


def _withdrawn() -> Select[Any]:
    endless = (_open, _table.c.invalid_at.is_(None), _table.c.name != SUPERSEDES)
    found = _known_then(_table.join(_ends, believed(_known))).where(*endless, _table.c.id.in_(_ended_then))
    return found.limit(_NO_LIMIT)


def _readable(*, is_past: bool) -> list[ColumnElement[bool]]:
    ends = (_table.c.source_id, _table.c.target_id)
    own = (here(_table), _table.c.visibility.in_(_visible))
    return [*own, *(_readable_end(end, is_past=is_past) for end in ends)]


def _readable_end(end: Column[str], *, is_past: bool) -> ColumnElement[bool]:
    now = readable_end(end)
    if not is_past:
        return now
    hidden = exists().where(
        here(_revisions),
        _revisions.c.id == end,
        _revisions.c.valid_from <= _at,
        _revisions.c.valid_to > _at,
        _revisions.c.visibility.not_in(_visible),
    )
    return and_(now, ~hidden)
