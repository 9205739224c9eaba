"""Links, which are present relations seen from one end, and facts over time: their versions and ends at a moment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Literal, NamedTuple

import sqlalchemy as sql

from stores.ledger import schema
from stores.ledger.columns import among, beside, here, json_list, listed, sound, visible
from stores.ledger.encoding import Values, optional_instant, to_micros
from stores.ledger.relations import RELATIONS, SUPERSEDES, believed, has_begun, is_open, is_present, readable_end
from stores.ledger.store import AsJson, Store
from stores.records import Relation

_entities = schema.entities
_table = schema.relations
_shown = schema.relations.alias("shown")
Way = Literal["outgoing", "incoming"]


class DirectedLink(NamedTuple):
    """A fact seen from one end."""

    id: str
    name: str
    way: Way


def _towards(way: Way) -> sql.Select[Any]:
    origins = listed("ids").subquery()
    origin = origins.c.value
    near, far = (_table.c.source_id, _table.c.target_id)[:: 1 if way == "outgoing" else -1]
    latest = (
        sql.select(_table.c.id)
        .where(here(_table), near == origin, far != origin, visible(_table), is_present, readable_end(far))
        .order_by(_table.c.created_at.desc(), _table.c.id)
        .limit(sql.bindparam("limit"))
        .correlate(origins)
    )
    other = _shown.c.target_id if way == "outgoing" else _shown.c.source_id
    of_organization = here(_shown)
    # An outer join fixes the order for SQLite, which would else read all relations first.
    return (
        sql.select(
            origin.label("origin"),
            other.label("other"),
            _shown.c.name,
            sql.literal(way).label("way"),
            _shown.c.created_at,
            _shown.c.id.label("relation_id"),
        )
        .select_from(origins)
        .join(_shown, sql.and_(of_organization, _shown.c.id.in_(latest)), isouter=True)
    )


_parts = sql.union_all(_towards("outgoing"), _towards("incoming")).subquery()
_around = sql.select(AsJson(*_parts.c))


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


_ends = schema.relation_ends
_revisions = schema.entity_revisions
_at = sql.bindparam("at", type_=sql.BigInteger)
_known = sql.bindparam("known", type_=sql.BigInteger)
_expired_then, _invalid_then = (
    # Of a relation that was closed later, none.
    sql.case((_ends.c.relation_id.is_not(None), before), (_table.c.expired_at > _known, sql.null()), else_=now)
    for before, now in (
        (_ends.c.known_expired_at, _table.c.expired_at),
        (_ends.c.known_invalid_at, _table.c.invalid_at),
    )
)
_ended_then = sql.select(_ends.c.relation_id).where(
    here(_ends), _ends.c.known_from <= _known, _ends.c.known_to > _known, _ends.c.known_invalid_at <= _at
)
_today = (_table.c.expired_at.label("expired_today"), _table.c.invalid_at.label("invalid_today"))

_entity: sql.BindParameter[str] = sql.bindparam("entity")
Conditions = tuple[sql.ColumnElement[bool], ...]
_outgoing, _incoming = (_table.c.source_id == _entity,), (_table.c.target_id == _entity, _table.c.source_id != _entity)
_WAYS: Mapping[str, tuple[Conditions, ...]] = {
    "outgoing": (_outgoing,),
    "incoming": (_incoming,),
    "both": (_outgoing, _incoming),
}
_name_then = (
    sql.select(_revisions.c.name)
    .where(beside(_revisions.c.id, _entities.c.id), _revisions.c.valid_from <= _at, _revisions.c.valid_to > _at)
    .limit(1)
    .scalar_subquery()
)
_names_now, _names_then = (
    sql.select(AsJson(_entities.c.id, name)).where(here(_entities), among(_entities.c.id))
    for name in (_entities.c.name, sql.func.coalesce(_name_then, _entities.c.name))
)

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


class Recalled(NamedTuple):
    then: Relation
    today: Relation


class LinkReads(Store):
    def relation_history(self, organization_id: str, query: HistoryQuery) -> list[Recalled]:
        """Return the latest matching relations, by transaction time and id, descending.

        A version has the end known at that moment: none or the announced one, if closed later. One closed before did
        not hold after its closing or its `invalid_at`, whichever came first.
        """
        now = self._clock() if query.as_of is None else query.as_of
        values: Values = {
            "organization": organization_id,
            "entity": query.entity_id,
            "visibility": json_list(query.visibility),
            "limit": query.limit,
            "at": to_micros(now),
            "known": to_micros(query.known_at or now),
        }
        is_past = query.as_of is not None or query.known_at is not None
        statement = _history(query.mode, query.entity_id is not None, is_past, query.include_ended)
        return sound(self._all(statement, values), _recalled)

    def list_relations(self, organization_id: str, query: RelationQuery) -> tuple[list[NamedRelation], int]:
        """Return a page of relations, latest first, and their number, up to `COUNTED`."""
        page, size = _listed(query.ways, query.name is not None, query.include_ended)
        values: Values = {
            "organization": organization_id,
            "entity": query.entity_id,
            "visibility": json_list(query.visibility),
            "name": query.name,
            "at": to_micros(self._clock()),
        }
        place = {"limit": query.offset + query.limit, "size": query.limit, "offset": query.offset}
        shown = sound(self._all(page, values | place), RELATIONS.read)
        counted = self._first(size, values | {"limit": COUNTED})
        names = self.entity_names(organization_id, (end for each in shown for end in (each.source_id, each.target_id)))
        named = [
            NamedRelation(each, names[each.source_id], names[each.target_id])
            for each in shown
            if {each.source_id, each.target_id} <= names.keys()
        ]
        return named, min(counted[0] if counted else 0, COUNTED)

    def entity_names(
        self, organization_id: str, entity_ids: Iterable[str], as_of: datetime | None = None
    ) -> dict[str, str]:
        values: Values = {"organization": organization_id, "ids": json_list(entity_ids)}
        if as_of is None:
            return dict(self._packed(_names_now, values))
        return dict(self._packed(_names_then, values | {"at": to_micros(as_of)}))

    def links_around(
        self, organization_id: str, entity_ids: Iterable[str], *, visibility: frozenset[str], limit: int
    ) -> dict[str, list[DirectedLink]]:
        """Return the latest `limit` visible relations of each entity and direction, but no loops, by entity."""
        values = {
            "organization": organization_id,
            "ids": json_list(entity_ids),
            "visibility": json_list(visibility),
            "at": to_micros(self._clock()),
            "limit": limit,
        }
        found: dict[str, list[DirectedLink]] = {}
        there = [row for row in self._packed(_around, values) if row[1] is not None]
        for origin, other, name, way, *_ in sorted(there, key=lambda row: (-row[4], row[5])):
            found.setdefault(origin, []).append(DirectedLink(other, name, way))
        return found


def _recalled(row: Sequence[Any]) -> Recalled:
    then, *today = RELATIONS.read(row), *map(optional_instant, row[-2:])
    if today == [then.expired_at, then.invalid_at]:
        return Recalled(then, then)
    return Recalled(then, replace(then, expired_at=today[0], invalid_at=today[1]))


@cache
def _listed(ways: Ways, named: bool, include_ended: bool) -> tuple[sql.Select[Any], sql.Select[Any]]:
    shown = _versions("timeline" if include_ended else "history", False, is_past=False)
    shown = shown.where(_table.c.name == sql.bindparam("name")) if named else shown
    page = _merged(shown, _WAYS[ways]).limit(sql.bindparam("size")).offset(sql.bindparam("offset"))
    ids = shown.with_only_columns(_table.c.id).limit(sql.bindparam("limit"))
    every = sql.union_all(*(ids.where(*way).subquery().select() for way in _WAYS[ways])).subquery()
    return page, sql.select(sql.func.count()).select_from(every)


@cache
def _history(mode: Mode, of_entity: bool, is_past: bool, include_ended: bool) -> sql.Select[Any]:
    ways = _WAYS["both"] if of_entity else ((),)
    withdrawn = [_withdrawn()] if is_past and mode == "conflicts" else []
    return _merged(_versions(mode, include_ended, is_past=is_past), ways, *withdrawn)


def _merged(asked: sql.Select[Any], ways: Sequence[Conditions], *more: sql.Select[Any]) -> sql.Select[Any]:
    parts = [_latest(asked.where(*way), _table) for way in ways] + [each.where(*way) for each in more for way in ways]
    if len(parts) == 1:
        return parts[0]
    found = sql.union_all(*(part.subquery().select() for part in parts)).subquery()
    return _latest(found.select(), found)


def _latest(query: sql.Select[Any], table: sql.FromClause) -> sql.Select[Any]:
    return query.order_by(table.c.created_at.desc(), table.c.id.desc()).limit(sql.bindparam("limit"))


def _versions(mode: Mode, include_ended: bool, *, is_past: bool) -> sql.Select[Any]:
    expired_at, invalid_at = (_expired_then, _invalid_then) if is_past else (_table.c.expired_at, _table.c.invalid_at)
    recorded = _table.c.created_at <= _known if is_past else sql.true()
    begun = _table.c.valid_at <= _at if is_past else has_begun
    unclosed = sql.or_(expired_at.is_(None), expired_at > _at) if is_past else is_open
    match mode:
        case "history" if include_ended:
            times = begun
        case "history":
            times = sql.and_(begun, unclosed, sql.or_(invalid_at.is_(None), invalid_at > _at))
        case "timeline":
            times = sql.true()
        case "conflicts":
            retired = sql.and_(_table.c.name == SUPERSEDES, begun)
            times = sql.and_(schema.MAY_CONFLICT, sql.or_(expired_at.is_not(None), invalid_at <= _at, retired))
    source = _table.outerjoin(_ends, believed(_known)) if is_past else _table
    return _selected(source, is_past=is_past).where(recorded, times)


def _withdrawn() -> sql.Select[Any]:
    """Select facts with an end that was withdrawn since: no index knows them."""
    endless = (is_open, _table.c.invalid_at.is_(None), _table.c.name != SUPERSEDES)
    found = _selected(_table.join(_ends, believed(_known)), is_past=True)
    return found.where(*endless, _table.c.id.in_(_ended_then)).limit(_NO_LIMIT)


def _selected(source: sql.FromClause, *, is_past: bool) -> sql.Select[Any]:
    then = {"expired_at": _expired_then, "invalid_at": _invalid_then} if is_past else {}
    columns = [then[each.name].label(each.name) if each.name in then else each for each in RELATIONS.columns]
    return sql.select(*columns, *_today).select_from(source).where(*_readable(is_past=is_past))


def _readable(*, is_past: bool) -> Iterator[sql.ColumnElement[bool]]:
    yield here(_table)
    yield visible(_table)
    for end in (_table.c.source_id, _table.c.target_id):
        yield readable_end(end)
        if is_past:
            then = (_revisions.c.valid_from <= _at, _revisions.c.valid_to > _at)
            hidden = ~visible(_revisions)
            yield ~sql.exists().where(here(_revisions), _revisions.c.id == end, *then, hidden)
