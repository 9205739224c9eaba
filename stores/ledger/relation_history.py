"""History of relation ends and of supersessions."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sql

from stores.ledger import schema
from stores.ledger.columns import among, here
from stores.ledger.encoding import from_micros, optional_instant, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.store import Store
from stores.records import ORGANIZATION, Relation

Moment = sql.BindParameter[int]
_relations = schema.relations
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


def believed(known: Moment, ends: sql.FromClause = _ends) -> sql.ColumnElement[bool]:
    """Return the SQL condition for the row of `relation_ends` known at a moment, one per relation at most."""
    of_relation = (ends.c.organization_id == _relations.c.organization_id, ends.c.relation_id == _relations.c.id)
    return sql.and_(*of_relation, ends.c.known_from <= known, ends.c.known_to > known)


def invalid_then(known: Moment) -> sql.ColumnElement[Any]:
    """Return the `invalid_at` known then; of a relation closed later, none."""
    return _then(known, _ends.c.known_invalid_at, _relations.c.invalid_at)


def expired_then(known: Moment) -> sql.ColumnElement[Any]:
    return _then(known, _ends.c.known_expired_at, _relations.c.expired_at)


def _then(known: Moment, before: sql.ColumnElement[Any], now: sql.ColumnElement[Any]) -> sql.ColumnElement[Any]:
    return sql.case(
        (_ends.c.relation_id.is_not(None), before), (_relations.c.expired_at > known, sql.null()), else_=now
    )


def unended(at: Moment) -> sql.ColumnElement[bool]:
    """Return the SQL condition that a relation, as known then, had not ended."""
    lasted = sql.or_(_relations.c.invalid_at.is_(None), _relations.c.invalid_at > at)
    still = sql.or_(_ends.c.known_invalid_at.is_(None), _ends.c.known_invalid_at > at)
    return sql.or_(
        sql.and_(
            sql.or_(_relations.c.expired_at > at, sql.and_(_relations.c.expired_at.is_(None), lasted)),
            ~sql.exists().where(believed(at)),
        ),
        sql.exists().where(believed(at), _ends.c.known_expired_at.is_(None), still),
    )


class EndReads(Store):
    def earlier_ends(
        self, organization_id: str, relation_ids: Iterable[str], known_at: datetime | None = None
    ) -> dict[str, list[EarlierEnd]]:
        """Return the ends known before the present one (or that of a moment), oldest first."""
        at = to_micros(self._clock() if known_at is None else known_at)
        found: defaultdict[str, list[EarlierEnd]] = defaultdict(list)
        for ids in in_chunks(relation_ids):
            values = {"organization": organization_id, "ids": ids, "known": at}
            for relation_id, known_from, known_to, invalid_at in self._all(_earlier, values):
                # The end known at the moment itself is its present one.
                if known_at is None or known_to <= at:
                    end = EarlierEnd(from_micros(known_from), from_micros(known_to), optional_instant(invalid_at))
                    found[relation_id].append(end)
        return dict(found)


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


def lasts(relation: Relation, now: datetime) -> bool:
    return relation.invalid_at is None or relation.invalid_at > now


def ended_by(
    fresh: Relation, rivals: Collection[Relation], ends: Ends, now: datetime, may_end: MayEnd
) -> list[Relation]:
    """Return the rivals (same source and name) that a lasting fact ends."""
    if fresh.name not in SINGLE_VALUED or not lasts(fresh, now):
        return []
    return [
        old
        for old in rivals
        if old.expired_at is None
        and lasts(old, now)
        and _overlap(fresh, old)
        and _may_end(fresh, old, ends, may_end)
        and _is_of_one_type(fresh, old, ends)
    ]


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
        leads_on = each.invalid_at in found if each.expired_at is not None or not lasts(each, now) else True
        was_true = each.invalid_at is None or each.invalid_at > each.valid_at
        if leads_on and was_true and _is_of_one_type(fresh, each, ends) and _may_end(each, fresh, ends, may_end):
            found.add(each.valid_at)
    return min(found, default=None)


def told_between(
    fresh: Relation, next_at: datetime | None, rivals: Collection[Relation], ends: Ends, may_end: MayEnd
) -> list[Relation]:
    """Return facts that ended at `next_at` (of `succeeded_at`) only because the fact between was unknown."""
    if fresh.name not in SINGLE_VALUED or next_at is None or fresh.invalid_at != next_at:
        return []
    return [
        old
        for old in rivals
        if old.invalid_at == next_at
        and old.valid_at <= fresh.valid_at
        and old.target_id != fresh.target_id
        and _may_end(fresh, old, ends, may_end)
        and _is_of_one_type(fresh, old, ends)
    ]


def _overlap(one: Relation, other: Relation) -> bool:
    return (other.invalid_at is None or other.invalid_at > one.valid_at) and (
        one.invalid_at is None or one.invalid_at > other.valid_at
    )


def _is_of_one_type(one: Relation, other: Relation, ends: Ends) -> bool:
    return ends[one.target_id].entity_type == ends[other.target_id].entity_type


def _may_end(ender: Relation, ended: Relation, ends: Ends, may_end: MayEnd) -> bool:
    of_ended = frozenset({ended.visibility, ends[ended.source_id].visibility, ends[ended.target_id].visibility})
    return may_end(frozenset({ender.visibility, ends[ender.target_id].visibility}), of_ended)
