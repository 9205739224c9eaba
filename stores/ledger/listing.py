"""Lists of entities: filtered, sorted and paged in the database."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, or_, select, union_all
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from stores.errors import ValidationFailed
from stores.ledger import schema
from stores.ledger.encoding import check_text, dump_json, key_of, to_micros
from stores.ledger.listed import as_json, listed
from stores.ledger.relations import present
from stores.ledger.rows import entity_columns, to_entity
from stores.ledger.store import Store
from stores.records import Entity
from stores.wording import comparable

SortKey = Literal["name", "created_at", "updated_at", "entity_type"]

SEARCH_LENGTH = 2_000
"""SQLite refuses LIKE patterns over 50,000 bytes."""

_table = schema.entities
_labels = schema.entity_labels
_facts = schema.relations
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
    """Tasks that name no epic or none that there is for the caller, and nothing else."""
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


Way = Literal["outgoing", "incoming"]
Names = Mapping[Way, frozenset[str] | None]
"""The relationships wanted in each direction, None being all; none in one that is absent."""


class Link(NamedTuple):
    """A fact, seen from one of its ends: the other end, the relationship, and the direction."""

    id: str
    name: str
    way: Way


FEW = 1_500
"""As many matches are read and sorted sooner than their like is met on the way along an index of the order."""

Columns = ReadOnlyColumnCollection[str, ColumnElement[Any]]


class Listing(Store):
    """Lists of current entities."""

    def list_entities(self, organization_id: str, query: EntityQuery) -> tuple[list[Entity], int]:
        """Return one page of the matching entities and how many match in all.

        Ties are broken by id, so that pages never overlap.
        """
        matching = and_(*_conditions(_table.c, organization_id, query))
        with self._database.read() as connection:
            if query.search:
                return _page_first(connection, query, matching)
            total = _count(connection, matching)
            if query.offset >= total:
                return [], total
            if total > FEW:
                return _page(connection, query, matching), total
            return _sorted_page(connection, query, matching), total

    def matching_ids(self, organization_id: str, query: EntityQuery, entity_ids: Iterable[str]) -> set[str]:
        """Return those of the entities that a query lists, whatever its page. It must not look for text.

        The work is in proportion to the ids.
        """
        ids = sorted(set(entity_ids))
        if not ids:
            return set()
        dialect = self._database.writer.dialect.name
        # By its key, and then filtered: beside the filters, SQLite would read every record by one of their indexes. It
        # would, too, if such an index held all of these columns: none holds the revision.
        named = (
            select(*(_table.c[name] for name in _FILTERED))
            .where(_table.c.organization_id == organization_id, _table.c.id.in_(listed(dialect, "ids")))
            .cte("named")
            .prefix_with("MATERIALIZED")
        )
        kept = select(as_json(dialect, [named.c.id])).where(*_conditions(named.c, organization_id, query))
        found = self._first(kept, {"ids": dump_json(list[Any](ids))})
        return {row[0] for row in json.loads((found and found[0]) or "[]")}

    def links_to_matching(
        self, organization_id: str, entity_id: str, query: EntityQuery, names: Names, limit: int
    ) -> list[Link]:
        """Return the facts of now between an entity and those that a query lists, what has been true since last first.

        Each name and direction of a pair comes once or more. The work is in proportion to the entity's facts, and what
        does not match takes no place within the limit.
        """
        parts = [_links(organization_id, entity_id, query, way, wanted) for way, wanted in names.items()]
        if not parts:
            return []
        found = union_all(*parts).subquery()
        latest = found.select().order_by(found.c.valid_at.desc(), found.c.relation_id).limit(limit)
        return [Link(row.id, row.name, row.way) for row in self._all(latest, {"at": to_micros(self._clock())})]


def _links(
    organization_id: str, entity_id: str, query: EntityQuery, way: Way, wanted: frozenset[str] | None
) -> Select[Any]:
    near, far = (_facts.c.source_id, _facts.c.target_id)[:: 1 if way == "outgoing" else -1]
    found = select(
        far.label("id"), _facts.c.name, literal(way).label("way"), _facts.c.valid_at, _facts.c.id.label("relation_id")
    ).join(_table, and_(_table.c.organization_id == _facts.c.organization_id, _table.c.id == far))
    found = found.where(
        _facts.c.organization_id == organization_id,
        near == entity_id,
        far != entity_id,
        _facts.c.visibility.in_(sorted(query.visibility)),
        present(),
        *_conditions(_table.c, organization_id, query),
    )
    return found if wanted is None else found.where(_facts.c.name.in_(sorted(wanted)))


def _count(connection: Connection, matching: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(_table).where(matching)).scalar_one()


def _order(query: EntityQuery, columns: Columns) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    key, tie = columns[_SORT_COLUMNS[query.sort_by].name], columns["id"]
    return (key, tie) if query.sort_order == "asc" else (key.desc(), tie.desc())


def _page(connection: Connection, query: EntityQuery, matching: ColumnElement[bool]) -> list[Entity]:
    page = select(*entity_columns(_table)).where(matching).order_by(*_order(query, _table.c))
    return [to_entity(row) for row in connection.execute(page.limit(query.limit).offset(query.offset))]


def _sorted_page(connection: Connection, query: EntityQuery, matching: ColumnElement[bool]) -> list[Entity]:
    """Find what matches by the index of a filter, and sort it here: asked to sort, SQLite reads along the order."""
    columns = (_SORT_COLUMNS[query.sort_by], _table.c.id, _table.c.organization_id)
    found = connection.execute(select(as_json(connection.dialect.name, columns)).where(matching)).scalar()
    places = sorted(map(tuple, json.loads(found or "[]")), reverse=query.sort_order == "desc")
    place_of = {row[1]: place for place, row in enumerate(places[query.offset : query.offset + query.limit])}
    if not place_of:
        return []
    named = and_(_table.c.organization_id == places[0][2], _table.c.id.in_(sorted(place_of)))
    page = connection.execute(select(*entity_columns(_table)).where(named))
    return sorted((to_entity(row) for row in page), key=lambda entity: place_of[entity.id])


def _page_first(connection: Connection, query: EntityQuery, matching: ColumnElement[bool]) -> tuple[list[Entity], int]:
    """Where each record must be looked at, do it once if the page can hold what matches."""
    found = _page(connection, query, matching)
    if query.offset == 0 and len(found) < query.limit:
        return found, len(found)
    return found, _count(connection, matching)


_FILTERED = (
    "id", "type_key", "status_key", "priority_key", "category_key", "complexity_key", "feature_key",
    "epic_id", "project_id", "source_id", "visibility", "revision",
)  # fmt: skip


def _conditions(columns: Columns, organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    if "organization_id" in columns:
        yield columns.organization_id == organization_id
    yield columns.visibility.in_(sorted(query.visibility))
    for column, words in (
        (columns.type_key, query.types),
        (columns.status_key, query.statuses),
        (columns.priority_key, query.priorities),
    ):
        if words:
            yield column.in_(_keys(words))
    for column, word in (
        (columns.category_key, query.category),
        (columns.complexity_key, query.complexity),
        (columns.feature_key, query.feature),
    ):
        if word is not None:
            yield column == key_of(word)
    yield from _place_conditions(columns, organization_id, query)
    yield from _text_conditions(columns, organization_id, query)


def _epics(organization_id: str, query: EntityQuery, epic_id: str | None = None) -> Select[tuple[str]]:
    """The epics that there are for the caller: a task whose field names another one is part of none."""
    epics = _table.alias("epics")
    there = select(epics.c.id).where(
        epics.c.organization_id == organization_id,
        epics.c.type_key == "epic",
        epics.c.visibility.in_(sorted(query.visibility)),
    )
    return there if epic_id is None else there.where(epics.c.id == epic_id)


def _place_conditions(columns: Columns, organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    if query.project_ids:
        yield columns.project_id.in_(sorted(set(query.project_ids)))
    if query.epic is not None:
        yield and_(columns.epic_id == query.epic, _epics(organization_id, query, query.epic).exists())
    if query.no_epic:
        without = or_(columns.epic_id.is_(None), columns.epic_id.not_in(_epics(organization_id, query)))
        yield and_(columns.type_key == "task", without)
    if not query.include_archived and "archived" not in _keys(query.statuses):
        yield columns.status_key != "archived"
    if not query.include_chunks and "document" not in _keys(query.types):
        yield columns.source_id.is_(None)


def _text_conditions(columns: Columns, organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    for kind, words in (("tag", query.tags), ("language", query.languages)):
        if words:
            yield _has_label(columns, organization_id, kind, words)
    if query.search:
        check_text((query.search,))
        if len(query.search) > SEARCH_LENGTH:
            raise ValidationFailed(f"The text to look for has more than {SEARCH_LENGTH} characters.")
        yield columns.search_text.contains(comparable(query.search), autoescape=True)


def _has_label(columns: Columns, organization_id: str, kind: str, words: Iterable[str]) -> ColumnElement[bool]:
    labelled = select(_labels.c.entity_id).where(
        _labels.c.organization_id == organization_id,
        _labels.c.kind == kind,
        _labels.c.label.in_(_keys(words)),
    )
    return columns.id.in_(labelled)


def _keys(words: Iterable[str]) -> list[str]:
    return sorted({key_of(word) for word in words})
