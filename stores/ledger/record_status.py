"""Record statuses: visibility, age, facets and supersession, without text."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, case, exists, select

from stores.clock import Clock
from stores.event_times import CAPTURED_AT, recent_at
from stores.ledger import schema
from stores.ledger.damage import DAMAGE
from stores.ledger.encoding import dump_json, from_micros, key_of, load_object, to_micros
from stores.ledger.engine import Database
from stores.ledger.entities import EntityReads
from stores.ledger.feed import FeedReads
from stores.ledger.filters import EntityQuery, test_of
from stores.ledger.json_sql import as_json, listed
from stores.ledger.relations import holds, present
from stores.ledger.row_cache import Facets, RecordStatus, RowCache
from stores.records import JsonObject

_table = schema.entities
_labels = schema.entity_labels
_relations = schema.relations
_OWN = ("id", "entity_type", "visibility", "updated_at", "created_at")
_FACETS = (
    "type_key", "status_key", "priority_key", "category_key", "complexity_key", "feature_key",
    "epic_id", "project_id", "source_id",
)  # fmt: skip


@cache
def _by_ids(dialect: str) -> Select[Any]:
    # Hardly any metadata names a capture time, so it is rarely read.
    dated = case((_table.c.metadata.contains(f'"{CAPTURED_AT}"'), _table.c.metadata))
    columns: list[ColumnElement[Any]] = [*(_table.c[name] for name in (*_OWN, *_FACETS)), dated]
    return select(as_json(dialect, columns)).where(
        _table.c.organization_id == bindparam("organization"), _table.c.id.in_(listed(dialect, "ids"))
    )


@cache
def _retired(dialect: str, *, now: bool) -> Select[Any]:
    # A query of its own: within `_by_ids` it would run once per record, and hardly any record is retired.
    return select(_relations.c.target_id, _relations.c.source_id).where(
        _relations.c.organization_id == bindparam("organization"),
        _relations.c.target_id.in_(listed(dialect, "ids")),
        schema.SUPERSEDING,
        _relations.c.visibility.in_(listed(dialect, "visibility")),
        present() if now else holds(),
        exists().where(
            _table.c.organization_id == bindparam("organization"),
            _table.c.id == _relations.c.source_id,
            _table.c.visibility.in_(listed(dialect, "visibility")),
        ),
    )


@cache
def _labelled(dialect: str) -> Select[Any]:
    return select(_labels.c.entity_id).where(
        _labels.c.organization_id == bindparam("organization"),
        _labels.c.entity_id.in_(listed(dialect, "ids")),
        _labels.c.kind == bindparam("kind"),
        _labels.c.label.in_(listed(dialect, "labels")),
    )


class StatusReads(EntityReads):
    def __init__(self, database: Database, clock: Clock, feed: FeedReads) -> None:
        super().__init__(database, clock)
        self._rows = RowCache(feed, database.commits, self._read_rows)

    def statuses(
        self,
        organization_id: str,
        entity_ids: Iterable[str],
        *,
        visibility: frozenset[str],
        as_of: datetime | None = None,
    ) -> dict[str, RecordStatus]:
        """Return record statuses by id, now or at a time; only visible relations supersede."""
        found = self._rows.rows(organization_id, entity_ids)
        if as_of is not None:
            at = to_micros(as_of)
            found = {each: status for each, status in found.items() if status.created_us <= at}
        retired = self.superseded(organization_id, found, visibility=visibility, as_of=as_of)
        return found | {each: found[each]._replace(superseded=True) for each in retired}

    def superseded(
        self,
        organization_id: str,
        entity_ids: Iterable[str],
        *,
        visibility: frozenset[str],
        as_of: datetime | None = None,
    ) -> set[str]:
        """Return the entities superseded now or at a time.

        The relation and its source must be visible, with `as_of` also then.
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

    def matching_ids(self, organization_id: str, query: EntityQuery, entity_ids: Iterable[str]) -> set[str]:
        """Return the entities that a query (without text, page) lists; O(ids)."""
        rows = self._rows.rows(organization_id, entity_ids)
        passes = cache(test_of(query))
        found = {each for each, row in rows.items() if row.visibility in query.visibility and passes(row.facets)}
        if query.epic is not None or query.no_epic:
            named = {each: epic for each in found if (epic := rows[each].facets.epic_id)}
            epics = self._rows.rows(organization_id, named.values()).values()
            there = {each.id for each in epics if each.facets.type == "epic" and each.visibility in query.visibility}
            found = {each for each in found if (named.get(each) in there) != query.no_epic}
        for kind, words in (("tag", query.tags), ("language", query.languages)):
            if words and found:
                found = self._with_label(organization_id, found, kind, words)
        return found

    def _with_label(self, organization_id: str, ids: Iterable[str], kind: str, words: Iterable[str]) -> set[str]:
        values = {
            "organization": organization_id,
            "ids": dump_json(list[Any](sorted(ids))),
            "kind": kind,
            "labels": dump_json(list[Any](sorted({key_of(word) for word in words}))),
        }
        return {row.entity_id for row in self._all(_labelled(self._database.writer.dialect.name), values)}

    def _read_rows(self, organization_id: str, ids: list[str]) -> list[RecordStatus]:
        values = {"organization": organization_id, "ids": dump_json(list[Any](ids))}
        return [_status(row) for row in self._packed(_by_ids(self._database.writer.dialect.name), values)]


class _Times(NamedTuple):
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime


def _status(row: Sequence[Any]) -> RecordStatus:
    id_, entity_type, visibility, updated_us, created_us, *facets, dated = row
    recent_us = updated_us if dated is None else _recent(dated, updated_us, created_us)
    return RecordStatus(id_, entity_type, visibility, updated_us, created_us, recent_us, Facets(*facets))


def _recent(metadata: str, updated_us: int, created_us: int) -> int:
    try:
        return to_micros(recent_at(_Times(load_object(metadata), from_micros(created_us), from_micros(updated_us))))
    except DAMAGE:
        return updated_us
