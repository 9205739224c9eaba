"""Standings: what a ranking must know of many records at once, read without their text."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import JSON, ColumnElement, Select, Text, bindparam, cast, column, func, literal_column, select

from stores.ledger import schema
from stores.ledger.encoding import dump_json, to_micros
from stores.ledger.relations import SUPERSEDES, holds
from stores.ledger.store import Store

_table = schema.entities
_relations = schema.relations


class Standing(NamedTuple):
    """Whether a record is there, who may read it, and whether another one, visible to the caller, retired it."""

    id: str
    entity_type: str
    visibility: str
    updated_us: int
    """Microseconds since 1970: a ranking compares hundreds of these, and shows none."""
    superseded: bool


@cache
def _standings(dialect: str) -> Select[Any]:
    """Return the query; the ids come as one JSON list, because hundreds of parameters cost more than the search.

    So does the answer: the driver lets other threads run after each row, and has to wait for its turn again.
    """
    # The sum keeps SQLite from reading all that an organization ever created, in order of time, to find some by id.
    existed = _table.c.created_at + literal_column("0") <= bindparam("at")
    columns = (_table.c.id, _table.c.entity_type, _table.c.visibility, _table.c.updated_at)
    return select(_as_json(dialect, columns)).where(
        _table.c.organization_id == bindparam("organization"), _table.c.id.in_(_listed(dialect, "ids")), existed
    )


@cache
def _retired(dialect: str) -> Select[Any]:
    """Return the query for those that relations with one of the visibility keys retire.

    Asked apart: within the other query it would be asked once for each record, and hardly any record is retired.
    """
    return (
        select(_relations.c.target_id)
        .distinct()
        .where(
            _relations.c.organization_id == bindparam("organization"),
            _relations.c.target_id.in_(_listed(dialect, "ids")),
            _relations.c.name == SUPERSEDES,
            _relations.c.visibility.in_(_listed(dialect, "visibility")),
            holds(),
        )
    )


def _as_json(dialect: str, columns: Sequence[ColumnElement[Any]]) -> ColumnElement[str]:
    if dialect == "sqlite":
        return func.json_group_array(func.json_array(*columns))
    return cast(func.json_agg(func.json_build_array(*columns)), Text)


def _listed(dialect: str, name: str) -> Select[Any]:
    texts = bindparam(name, type_=Text)
    if dialect == "sqlite":
        found = func.json_each(texts).table_valued(column("value", Text))
    else:
        found = func.json_array_elements_text(cast(texts, JSON)).table_valued(column("value", Text))
    return select(found.c.value)


class StandingReads(Store):
    """Reads of standings."""

    def standings(
        self,
        organization_id: str,
        entity_ids: Iterable[str],
        *,
        visibility: frozenset[str],
        as_of: datetime | None = None,
    ) -> dict[str, Standing]:
        """Return the standing of each entity that exists (with `as_of`: existed then), by id.

        Only relations with one of the visibility keys retire a record: what a caller may not see has no effect on it.
        """
        ids = sorted(set(entity_ids))
        if not ids:
            return {}
        at = to_micros(self._clock() if as_of is None else as_of)
        keys = dump_json(list[Any](sorted(visibility)))
        values = {"organization": organization_id, "ids": dump_json(list[Any](ids)), "at": at}
        dialect = self._database.writer.dialect.name
        with self._database.read() as connection:
            rows = connection.execute(_standings(dialect), values).scalar_one()
            retired = {row[0] for row in connection.execute(_retired(dialect), values | {"visibility": keys})}
        return {row[0]: Standing._make((*row, row[0] in retired)) for row in json.loads(rows or "[]")}
