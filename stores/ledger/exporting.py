"""Reads of all that somebody may see, page by page in the order of ids: what stays comes exactly once; and imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, Table, bindparam, exists, or_, select

from stores.ledger import schema
from stores.ledger.columns import RecordTable, here, json_list, sound, visible
from stores.ledger.entities import ENTITIES, to_entity
from stores.ledger.relations import RELATIONS
from stores.ledger.schema import source_imports
from stores.ledger.store import Cells, Store, Writes
from stores.records import Entity, Relation
from stores.source_imports import SourceImport

_entities = schema.entities
_relations = schema.relations
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
        shown = (visible(_entities), PARTS[part], *_inside(query))
        rows, last = self._page(_entities, select(*ENTITIES.columns).where(*shown), query)
        return sound(rows, to_entity), last

    def relations(self, query: ExportQuery) -> tuple[list[Relation], str | None]:
        # Also ended ones.
        ends = (_end(query, end) for end in (_relations.c.source_id, _relations.c.target_id))
        shown = select(*RELATIONS.columns).where(visible(_relations), *ends)
        rows, last = self._page(_relations, shown, query)
        return sound(rows, RELATIONS.read), last

    def _page(self, table: Table, shown: Select[Any], query: ExportQuery) -> tuple[Sequence[Cells], str | None]:
        page = shown.where(here(table), table.c.id > bindparam("after")).order_by(table.c.id).limit(query.limit)
        values = {"organization": query.organization_id, "after": query.after, "project": query.project_id}
        rows = self._all(page, values | {"visibility": json_list(query.visibility)})
        return rows, rows[-1].id if len(rows) == query.limit else None


def _inside(query: ExportQuery) -> tuple[ColumnElement[bool], ...]:
    project: ColumnElement[Any] = bindparam("project")
    return () if query.project_id is None else (or_(_entities.c.project_id == project, _entities.c.id == project),)


def _end(query: ExportQuery, end: Column[str]) -> ColumnElement[bool]:
    return exists().where(here(_entities), _entities.c.id == end, visible(_entities), *_inside(query))


_imports = RecordTable(source_imports, SourceImport, "-updated_at", "id")


class SourceImportReads(Store):
    def find(self, organization_id: str, import_id: str) -> SourceImport | None:
        return self._find(_imports, organization_id=organization_id, id=import_id)

    def of_user(self, organization_id: str, user_id: str, limit: int, offset: int) -> list[SourceImport]:
        statement = _imports.select(organization_id=organization_id, user_id=user_id)
        return [_imports.read(row) for row in self._all(statement.limit(limit).offset(offset))]


class SourceImportWrites(Writes):
    def find(self, import_id: str) -> SourceImport | None:
        return _imports.one(self._connection, organization_id=self.organization_id, id=import_id)

    def keep(self, found: SourceImport) -> None:
        """Store an import, or its next state."""
        values = _imports.values(found)
        if not _imports.change(self._connection, values, organization_id=self.organization_id, id=found.id):
            _imports.insert(self._connection, found, organization_id=self.organization_id)
