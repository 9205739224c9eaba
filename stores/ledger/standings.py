"""Standings: what a ranking must know of many records at once, read without their text."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import JSON, ColumnElement, Select, Text, bindparam, cast, column, exists, func, select

from stores.errors import NotFound
from stores.ledger import schema
from stores.ledger.encoding import dump_json, to_micros
from stores.ledger.entities import EntityReads
from stores.ledger.feed import FeedReads
from stores.ledger.known import KnownRows, Row
from stores.ledger.relations import SUPERSEDES, holds, present
from stores.records import Change, Position

MOST_CHANGES = 500
"""Changes that are followed one by one; after more, all is read again."""

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
    columns = (_table.c.id, _table.c.entity_type, _table.c.visibility, _table.c.updated_at, _table.c.created_at)
    return select(_as_json(dialect, columns)).where(
        _table.c.organization_id == bindparam("organization"), _table.c.id.in_(_listed(dialect, "ids"))
    )


@cache
def _retired(dialect: str, *, now: bool) -> Select[Any]:
    """Return the query for what relations with one of the visibility keys, from records with one of them, retire.

    Asked apart: within the other query it would be asked once for each record, and hardly any record is retired.
    """
    return select(_relations.c.target_id, _relations.c.source_id).where(
        _relations.c.organization_id == bindparam("organization"),
        _relations.c.target_id.in_(_listed(dialect, "ids")),
        _relations.c.name == SUPERSEDES,
        _relations.c.visibility.in_(_listed(dialect, "visibility")),
        present() if now else holds(),
        exists().where(
            _table.c.organization_id == bindparam("organization"),
            _table.c.id == _relations.c.source_id,
            _table.c.visibility.in_(_listed(dialect, "visibility")),
        ),
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


class StandingReads(EntityReads, FeedReads):
    """Reads of standings. What does not depend on the caller is read once and kept until the feed names it."""

    _known: KnownRows

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
        There are none in an organization that does not exist.
        """
        ids = sorted(set(entity_ids))
        if not ids:
            return {}
        rows = self._rows(organization_id, ids, self._database.writer.dialect.name)
        retired = self.superseded(organization_id, ids, visibility=visibility, as_of=as_of)
        at = to_micros(self._clock() if as_of is None else as_of)
        return {
            each: Standing(each, row.entity_type, row.visibility, row.updated_us, each in retired)
            for each, row in rows.items()
            if row.created_us <= at
        }

    def superseded(
        self,
        organization_id: str,
        entity_ids: Iterable[str],
        *,
        visibility: frozenset[str],
        as_of: datetime | None = None,
    ) -> set[str]:
        """Return those of the entities that another one retires now, or retired at a time.

        Only what has one of the visibility keys has an effect: the relation, and the record that states it. At a time,
        that record must have been readable then, too.
        """
        ids = sorted(set(entity_ids))
        if not ids:
            return set()
        values = {
            "organization": organization_id,
            "ids": dump_json(list[Any](ids)),
            "visibility": dump_json(list[Any](sorted(visibility))),
            "at": to_micros(self._clock() if as_of is None else as_of),
        }
        found = self._all(_retired(self._database.writer.dialect.name, now=as_of is None), values)
        if as_of is None or not found:
            return {row.target_id for row in found}
        then = self.entities_at(organization_id, {row.source_id for row in found}, as_of)
        readable = {each for each, entity in then.items() if entity.visibility in visibility}
        return {row.target_id for row in found if row.source_id in readable}

    def _rows(self, organization_id: str, ids: Sequence[str], dialect: str) -> dict[str, Row]:
        try:
            position = self._followed(organization_id)
        except NotFound:
            return {}
        rows = self._known.get(organization_id, position, ids)
        if missing := [each for each in ids if each not in rows]:
            values = {"organization": organization_id, "ids": dump_json(list[Any](missing))}
            found = self._first(_standings(dialect), values)
            read = {row[0]: Row(*row[1:]) for row in json.loads((found and found[0]) or "[]")}
            self._known.keep(organization_id, position, read)
            rows |= read
        return rows

    def _followed(self, organization_id: str) -> Position:
        """Forget what has changed since the last time; return how fresh the rest is."""
        head, known = self.head(organization_id), self._known.position(organization_id)
        if head == known:
            return head
        changes: list[Change] = []
        if known is not None and self.batch_at(organization_id, known.sequence) == known.batch:
            changes = self.changes(organization_id, known.sequence, MOST_CHANGES)
        whole = bool(changes) and changes[-1].sequence >= head.sequence
        self._known.advance(organization_id, known if whole else None, head, (each.record_id for each in changes))
        return head
