"""Lists of entities: filtered, sorted and paged in the database."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, and_, func, select

from stores.errors import ValidationFailed
from stores.ledger import schema
from stores.ledger.encoding import check_text, key_of
from stores.ledger.rows import entity_columns, to_entity
from stores.ledger.store import Store
from stores.records import Entity
from stores.wording import comparable

SortKey = Literal["name", "created_at", "updated_at", "entity_type"]

SEARCH_LENGTH = 2_000
"""SQLite refuses LIKE patterns over 50,000 bytes."""

_table = schema.entities
_labels = schema.entity_labels
_SORT_COLUMNS = {
    "name": _table.c.name_key,
    "created_at": _table.c.created_at,
    "updated_at": _table.c.updated_at,
    "entity_type": _table.c.type_key,
}


@dataclass(frozen=True, slots=True)
class EntityQuery:
    """What to list. An empty tuple filters nothing; words are compared in any case."""

    visibility: frozenset[str]
    ids: tuple[str, ...] = ()
    """Of these alone, at most a few thousand."""
    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Any of them suffices, as in every other tuple."""
    languages: tuple[str, ...] = ()
    category: str | None = None
    project_ids: tuple[str, ...] = ()
    epic: str | None = None
    no_epic: bool = False
    """Tasks without an epic, and nothing else."""
    complexity: str | None = None
    feature: str | None = None
    search: str | None = None
    """A part of the name or the description."""
    include_archived: bool = False
    """Also implied by a status `archived`."""
    include_chunks: bool = False
    """Also implied by a type `document`."""
    sort_by: SortKey = "updated_at"
    sort_order: Literal["asc", "desc"] = "desc"
    limit: int = 50
    offset: int = 0


class Listing(Store):
    """Lists of current entities."""

    def list_entities(self, organization_id: str, query: EntityQuery) -> tuple[list[Entity], int]:
        """Return one page of the matching entities and how many match in all.

        Ties are broken by id, so that pages never overlap.
        """
        matching = and_(*_conditions(organization_id, query))
        column = _SORT_COLUMNS[query.sort_by]
        order = (column, _table.c.id) if query.sort_order == "asc" else (column.desc(), _table.c.id.desc())
        page = select(*entity_columns(_table)).where(matching).order_by(*order).limit(query.limit).offset(query.offset)
        total = select(func.count()).select_from(_table).where(matching)
        with self._database.read() as connection:
            found = [to_entity(row) for row in connection.execute(page)]
            if query.offset == 0 and len(found) < query.limit:
                return found, len(found)
            return found, connection.execute(total).scalar_one()


def _conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    yield _table.c.organization_id == organization_id
    yield _table.c.visibility.in_(sorted(query.visibility))
    if query.ids:
        yield _table.c.id.in_(sorted(set(query.ids)))
    for column, words in (
        (_table.c.type_key, query.types),
        (_table.c.status_key, query.statuses),
        (_table.c.priority_key, query.priorities),
    ):
        if words:
            yield column.in_(_keys(words))
    for column, word in (
        (_table.c.category_key, query.category),
        (_table.c.complexity_key, query.complexity),
        (_table.c.feature_key, query.feature),
    ):
        if word is not None:
            yield column == key_of(word)
    yield from _place_conditions(query)
    yield from _text_conditions(organization_id, query)


def _place_conditions(query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    if query.project_ids:
        yield _table.c.project_id.in_(sorted(set(query.project_ids)))
    if query.epic is not None:
        yield _table.c.epic_id == query.epic
    if query.no_epic:
        yield and_(_table.c.type_key == "task", _table.c.epic_id.is_(None))
    if not query.include_archived and "archived" not in _keys(query.statuses):
        yield _table.c.status_key != "archived"
    if not query.include_chunks and "document" not in _keys(query.types):
        yield _table.c.source_id.is_(None)


def _text_conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    for kind, words in (("tag", query.tags), ("language", query.languages)):
        if words:
            yield _has_label(organization_id, kind, words)
    if query.search:
        check_text((query.search,))
        if len(query.search) > SEARCH_LENGTH:
            raise ValidationFailed(f"The text to look for has more than {SEARCH_LENGTH} characters.")
        yield _table.c.search_text.contains(comparable(query.search), autoescape=True)


def _has_label(organization_id: str, kind: str, words: Iterable[str]) -> ColumnElement[bool]:
    labelled = select(_labels.c.entity_id).where(
        _labels.c.organization_id == organization_id,
        _labels.c.kind == kind,
        _labels.c.label.in_(_keys(words)),
    )
    return _table.c.id.in_(labelled)


def _keys(words: Iterable[str]) -> list[str]:
    return sorted({key_of(word) for word in words})
