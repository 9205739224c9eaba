"""Reads of all that somebody may see, page by page in the order of ids: what stays comes exactly once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, Table, bindparam, exists, or_, select

from stores.ledger import schema
from stores.ledger.columns import here
from stores.ledger.record_table import sound
from stores.ledger.relations import RELATIONS, to_relation
from stores.ledger.rows import entity_columns, to_entity
from stores.ledger.store import Cells, Store
from stores.records import Entity, Relation

_entities = schema.entities
_relations = schema.relations
_visible: ColumnElement[Any] = bindparam("visibility", expanding=True)
_is_project, _is_chunk = _entities.c.type_key == "project", _entities.c.source_id.is_not(None)
PARTS = {"projects": _is_project, "records": ~_is_project & ~_is_chunk, "chunks": _is_chunk}
"""Kinds of entities, in the order in which an import needs them."""


@dataclass(frozen=True, slots=True)
class ExportQuery:
    organization_id: str
    visibility: frozenset[str]
    project_id: str | None
    after: str
    limit: int


class ExportReads(Store):
    """Pages without damaged records, each with the id to go on after; None at the end."""

    def entities(self, query: ExportQuery, part: str) -> tuple[list[Entity], str | None]:
        shown = (_entities.c.visibility.in_(_visible), PARTS[part], *_inside(query))
        rows, last = self._page(_entities, select(*entity_columns(_entities)).where(*shown), query)
        return sound(rows, to_entity), last

    def relations(self, query: ExportQuery) -> tuple[list[Relation], str | None]:
        # Also ended ones.
        ends = (_end(query, end) for end in (_relations.c.source_id, _relations.c.target_id))
        shown = select(*RELATIONS.columns).where(_relations.c.visibility.in_(_visible), *ends)
        rows, last = self._page(_relations, shown, query)
        return sound(rows, to_relation), last

    def _page(self, table: Table, shown: Select[Any], query: ExportQuery) -> tuple[Sequence[Cells], str | None]:
        page = shown.where(here(table), table.c.id > bindparam("after")).order_by(table.c.id).limit(query.limit)
        values = {"organization": query.organization_id, "after": query.after, "project": query.project_id}
        rows = self._all(page, values | {"visibility": sorted(query.visibility)})
        return rows, rows[-1].id if len(rows) == query.limit else None


def _inside(query: ExportQuery) -> tuple[ColumnElement[bool], ...]:
    project: ColumnElement[Any] = bindparam("project")
    return () if query.project_id is None else (or_(_entities.c.project_id == project, _entities.c.id == project),)


def _end(query: ExportQuery, end: Column[str]) -> ColumnElement[bool]:
    return exists().where(here(_entities), _entities.c.id == end, _entities.c.visibility.in_(_visible), *_inside(query))
