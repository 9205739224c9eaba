"""Entity lists: filtered, sorted and paged in the database."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, column, func, or_, select

from stores.errors import ValidationFailed
from stores.language.wording import comparable
from stores.ledger import schema
from stores.ledger.encoding import check_text, key_of
from stores.ledger.filters import EntityQuery
from stores.ledger.record_status import StatusReads
from stores.ledger.rows import Brief
from stores.records import Entity

SEARCH_LENGTH = 2_000
"""SQLite refuses LIKE patterns over 50,000 bytes."""

_table = schema.entities
_epics_table = _table.alias("epics")
_labels = schema.entity_labels
_SORT_COLUMNS = {
    "name": _table.c.name_key,
    "created_at": _table.c.created_at,
    "updated_at": _table.c.updated_at,
    "entity_type": _table.c.type_key,
}


_PLACES = {"updated_at": "updated_us", "created_at": "created_us"}

_FEW_COLUMNS: tuple[ColumnElement[Any], ...] = (column("id"), func.count().over().label("total"))
_FEW_ORDERS: Mapping[str, tuple[ColumnElement[Any], ...]] = {
    "asc": (column("place"), column("id")),
    "desc": (column("place").desc(), column("id").desc()),
}
"""Made once: the columns of a subquery cost half a millisecond each time."""

FEW = 1_500
"""More matches are walked along an index instead of sorted."""


class Listing(StatusReads):
    def list_entities(self, organization_id: str, query: EntityQuery) -> tuple[list[Entity], int]:
        """Return one page and the number of matches; ties are broken by id."""
        page, total = self._listed(organization_id, query)
        entities = self.entities(organization_id, page)
        # Skip entities hidden or erased since the first read.
        shown = [entities[each] for each in page if each in entities and entities[each].visibility in query.visibility]
        return shown, total

    def list_briefs(self, organization_id: str, query: EntityQuery) -> tuple[list[Brief], int]:
        page, total = self._listed(organization_id, query)
        briefs = self.briefs(organization_id, page)
        shown = [briefs[each] for each in page if each in briefs and briefs[each].visibility in query.visibility]
        return shown, total

    def _listed(self, organization_id: str, query: EntityQuery) -> tuple[list[str], int]:
        if query.sort_by in _PLACES and not query.search and (found := self._labelled(organization_id, query)):
            return found
        matching = and_(*conditions(organization_id, query))
        with self._database.read() as connection:
            if query.search:
                return _page_first(connection, query, matching)
            few = connection.execute(_few(query, matching)).all()
            if not few and query.offset == 0:
                return [], 0
            if few and few[0].total <= FEW:
                return [row.id for row in few], few[0].total
            total = _count(connection, matching)
            return (_page(connection, query, matching) if query.offset < total else []), total

    def _labelled(self, organization_id: str, query: EntityQuery) -> tuple[list[str], int] | None:
        for kind, words, others in (
            ("tag", query.tags, replace(query, tags=())),
            ("language", query.languages, replace(query, languages=())),
        ):
            if words:
                labelled = self._all(_labelled(organization_id, kind, words).limit(FEW + 1), {})
                if len(labelled) <= FEW:
                    ids = self.matching_ids(organization_id, others, (row.entity_id for row in labelled))
                    order = attrgetter(_PLACES[query.sort_by], "id")
                    rows = sorted(self._rows.rows(organization_id, ids).values(), key=order)
                    ordered = rows if query.sort_order == "asc" else rows[::-1]
                    return [row.id for row in ordered[query.offset : query.offset + query.limit]], len(ordered)
        return None


def _few(query: EntityQuery, matching: ColumnElement[bool]) -> Select[Any]:
    found = select(_table.c.id, _SORT_COLUMNS[query.sort_by].label("place")).where(matching).limit(FEW + 1).subquery()
    order = _FEW_ORDERS[query.sort_order]
    return select(*_FEW_COLUMNS).select_from(found).order_by(*order).limit(query.limit).offset(query.offset)


def _count(connection: Connection, matching: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(_table).where(matching)).scalar_one()


def _order(query: EntityQuery) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    key, tie = _SORT_COLUMNS[query.sort_by], _table.c.id
    return (key, tie) if query.sort_order == "asc" else (key.desc(), tie.desc())


def _page(connection: Connection, query: EntityQuery, matching: ColumnElement[bool]) -> list[str]:
    page = select(_table.c.id).where(matching).order_by(*_order(query))
    return list(connection.execute(page.limit(query.limit).offset(query.offset)).scalars())


def _page_first(connection: Connection, query: EntityQuery, matching: ColumnElement[bool]) -> tuple[list[str], int]:
    found = _page(connection, query, matching)
    if query.offset == 0 and len(found) < query.limit:
        return found, len(found)
    return found, _count(connection, matching)


def conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    columns = _table.c
    yield columns.organization_id == organization_id
    yield columns.visibility.in_(sorted(query.visibility))
    for key, words in (
        (columns.type_key, query.types),
        (columns.status_key, query.statuses),
        (columns.priority_key, query.priorities),
    ):
        if words:
            yield key.in_(_keys(words))
    for key, word in (
        (columns.category_key, query.category),
        (columns.complexity_key, query.complexity),
        (columns.feature_key, query.feature),
    ):
        if word is not None:
            yield key == key_of(word)
    yield from _place_conditions(organization_id, query)
    yield from _text_conditions(organization_id, query)


def _epics(organization_id: str, query: EntityQuery, epic_id: str | None = None) -> Select[tuple[str]]:
    columns = _epics_table.c
    there = select(columns.id).where(
        columns.organization_id == organization_id,
        columns.type_key == "epic",
        columns.visibility.in_(sorted(query.visibility)),
    )
    return there if epic_id is None else there.where(columns.id == epic_id)


def _place_conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    columns = _table.c
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


def _text_conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    for kind, words in (("tag", query.tags), ("language", query.languages)):
        if words:
            yield _table.c.id.in_(_labelled(organization_id, kind, words))
    if query.search:
        check_text((query.search,))
        if len(query.search) > SEARCH_LENGTH:
            raise ValidationFailed(f"The text to look for has more than {SEARCH_LENGTH} characters.")
        yield _table.c.search_text.contains(comparable(query.search), autoescape=True)


def _labelled(organization_id: str, kind: str, words: Iterable[str]) -> Select[tuple[str]]:
    return select(_labels.c.entity_id).where(
        _labels.c.organization_id == organization_id, _labels.c.kind == kind, _labels.c.label.in_(_keys(words))
    )


def _keys(words: Iterable[str]) -> list[str]:
    return sorted({key_of(word) for word in words})
