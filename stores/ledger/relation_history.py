"""History of relation ends: which end was known at a moment."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    FromClause,
    and_,
    bindparam,
    case,
    exists,
    null,
    or_,
    select,
)

from stores.ledger import schema
from stores.ledger.encoding import from_micros, optional_instant, to_micros
from stores.ledger.engine import in_chunks
from stores.ledger.store import Store

Moment = BindParameter[int]
_relations = schema.relations
_ends = schema.relation_ends
_earlier = (
    select(_ends.c.relation_id, _ends.c.known_from, _ends.c.known_to, _ends.c.known_invalid_at)
    .where(
        _ends.c.organization_id == bindparam("organization"),
        _ends.c.relation_id.in_(bindparam("ids", expanding=True)),
        _ends.c.known_from <= bindparam("known", type_=BigInteger),
    )
    .order_by(_ends.c.relation_id, _ends.c.known_from)
)


class EarlierEnd(NamedTuple):
    """End of a relation, replaced by a later one."""

    known_from: datetime
    known_to: datetime
    invalid_at: datetime | None
    """None: no end."""


def believed(known: Moment, ends: FromClause = _ends) -> ColumnElement[bool]:
    """Return the SQL condition for the row of `relation_ends` known at a moment.

    There is at most one per relation; without one, `relations` has it.
    """
    of_relation = (ends.c.organization_id == _relations.c.organization_id, ends.c.relation_id == _relations.c.id)
    return and_(*of_relation, ends.c.known_from <= known, ends.c.known_to > known)


def invalid_then(known: Moment) -> ColumnElement[Any]:
    """Return the `invalid_at` known then; of a relation closed later, none."""
    return _then(known, _ends.c.known_invalid_at, _relations.c.invalid_at)


def expired_then(known: Moment) -> ColumnElement[Any]:
    return _then(known, _ends.c.known_expired_at, _relations.c.expired_at)


def _then(known: Moment, before: ColumnElement[Any], now: ColumnElement[Any]) -> ColumnElement[Any]:
    return case((_ends.c.relation_id.is_not(None), before), (_relations.c.expired_at > known, null()), else_=now)


def unended(at: Moment) -> ColumnElement[bool]:
    """Return the SQL condition that a relation, as known then, had not ended."""
    lasted = or_(_relations.c.invalid_at.is_(None), _relations.c.invalid_at > at)
    still = or_(_ends.c.known_invalid_at.is_(None), _ends.c.known_invalid_at > at)
    return or_(
        and_(
            or_(_relations.c.expired_at > at, and_(_relations.c.expired_at.is_(None), lasted)),
            ~exists().where(believed(at)),
        ),
        exists().where(believed(at), _ends.c.known_expired_at.is_(None), still),
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
