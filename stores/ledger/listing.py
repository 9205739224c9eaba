"""Entity lists: filtered, sorted and paged in the database; status of records by id."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, Literal, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, case, column, func, or_, select

from stores.clock import Clock
from stores.errors import ValidationFailed
from stores.event_times import CAPTURED_AT, Times, recent_at
from stores.language.wording import plain
from stores.ledger import schema
from stores.ledger.columns import DAMAGE, KeyText, among, here, json_list, visible
from stores.ledger.encoding import check_text, from_micros, key_of, load_object, to_micros
from stores.ledger.engine import Database
from stores.ledger.entities import Brief, EntityReads
from stores.ledger.feed import FeedReads
from stores.ledger.relations import held_then, is_present, readable_end
from stores.ledger.row_cache import Facets, RecordStatus, RowCache
from stores.ledger.store import AsJson
from stores.records import Entity

FEW = 1_500
"""More matches are walked along an index instead of sorted."""

SortKey = Literal["name", "created_at", "updated_at", "entity_type"]


@dataclass(frozen=True, slots=True)
class EntityQuery:
    """Filter, order and page of an entity list. An empty tuple filters nothing; case is ignored."""

    visibility: frozenset[str]
    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    priorities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    """Any of them suffices, as in every tuple."""
    languages: tuple[str, ...] = ()
    category: str | None = None
    project_ids: tuple[str, ...] = ()
    epic: str | None = None
    no_epic: bool = False
    """Only tasks without a visible epic."""
    complexity: str | None = None
    feature: str | None = None
    search: str | None = None
    """Part of the name or the description."""
    include_archived: bool = False
    """Implied by a status `archived`."""
    include_chunks: bool = False
    """Implied by a type `document`."""
    sort_by: SortKey = "updated_at"
    sort_order: Literal["asc", "desc"] = "desc"
    limit: int = 50
    offset: int = 0


def _wanted(query: EntityQuery) -> dict[str, set[str]]:
    given = {"type": query.types, "status": query.statuses, "priority": query.priorities}
    words = {"category": query.category, "complexity": query.complexity, "feature": query.feature}
    given |= {name: (word,) for name, word in words.items() if word is not None}
    return {name: {key_of(word) for word in words} for name, words in given.items() if words}


def _shows_all(query: EntityQuery, wanted: Mapping[str, set[str]]) -> tuple[bool, bool]:
    shows_archived = query.include_archived or "archived" in wanted.get("status", ())
    return shows_archived, query.include_chunks or "document" in wanted.get("type", ())


def test_of(query: EntityQuery) -> Callable[[Facets], bool]:
    """Compile a query to a predicate on facets, without the epic's visibility."""
    wanted = _wanted(query)
    shows_archived, shows_chunks = _shows_all(query, wanted)

    def passes(facets: Facets) -> bool:
        return (
            all(getattr(facets, name) in keys for name, keys in wanted.items())
            and (not query.project_ids or facets.project_id in query.project_ids)
            and (query.epic is None or facets.epic_id == query.epic)
            and (not query.no_epic or facets.type == "task")
            and (shows_archived or facets.status != "archived")
            and (shows_chunks or facets.source_id is None)
        )

    return passes


Row = TypeVar("Row", Entity, Brief)
_table = schema.entities
_labels = schema.entity_labels
_relations = schema.relations
_OWN = ("id", "entity_type", "visibility", "updated_at", "created_at")
_FACETS = (
    "type_key", "status_key", "priority_key", "category_key", "complexity_key", "feature_key",
    "epic_id", "project_id", "source_id",
)  # fmt: skip

# Hardly any metadata names a capture time, so it is rarely read.
_dated = case((_table.c.metadata.contains(f'"{CAPTURED_AT}"'), _table.c.metadata))
_by_ids = select(AsJson(*(_table.c[name] for name in (*_OWN, *_FACETS)), _dated)).where(
    here(_table), among(_table.c.id)
)
# A query of its own: within `_by_ids` it would run once per record, and hardly any record is retired.
_retired_ever = select(_relations.c.target_id, _relations.c.source_id).where(
    here(_relations),
    among(_relations.c.target_id),
    schema.SUPERSEDING,
    visible(_relations),
    readable_end(_relations.c.source_id),
)
_retired_now, _retired_then = _retired_ever.where(is_present), _retired_ever.where(held_then)

_so_labelled = (here(_labels), _labels.c.kind == bindparam("kind"), among(_labels.c.label, "labels"))
_labelled_among = select(_labels.c.entity_id).where(*_so_labelled, among(_labels.c.entity_id))
_first_labelled = select(_labels.c.entity_id).where(*_so_labelled).limit(FEW + 1)
_few_labelled = select(AsJson(column("entity_id"))).select_from(_first_labelled.subquery())


def _status(row: Sequence[Any]) -> RecordStatus:
    id_, entity_type, visibility, updated_us, created_us, *facets, dated = row
    recent_us = updated_us if dated is None else _recent(dated, updated_us, created_us)
    return RecordStatus(id_, entity_type, visibility, updated_us, created_us, recent_us, Facets(*facets))


def _recent(metadata: str, updated_us: int, created_us: int) -> int:
    try:
        return to_micros(recent_at(Times(load_object(metadata), from_micros(created_us), from_micros(updated_us))))
    except DAMAGE:
        return updated_us


SEARCH_LENGTH = 2_000
"""SQLite refuses LIKE patterns over 50,000 bytes."""

_epics_table = _table.alias("epics")
_SORT_COLUMNS = {
    "name": _table.c.name_key,
    "created_at": _table.c.created_at,
    "updated_at": _table.c.updated_at,
    "entity_type": _table.c.type_key,
}

_PLACES = {"updated_at": "updated_us", "created_at": "created_us"}

_FEW_ORDERS: Mapping[str, tuple[ColumnElement[Any], ...]] = {
    "asc": (column("place"), column("id")),
    "desc": (column("place").desc(), column("id").desc()),
}
"""Made once: the columns of a subquery cost half a millisecond each time."""


class Listing(EntityReads):
    def list_entities(self, organization_id: str, query: EntityQuery) -> tuple[list[Entity], int]:
        """Return one page and the number of matches; ties are broken by id."""
        page, total = self._listed(organization_id, query)
        return _shown(page, query, self.entities(organization_id, page)), total

    def list_briefs(self, organization_id: str, query: EntityQuery) -> tuple[list[Brief], int]:
        page, total = self._listed(organization_id, query)
        return _shown(page, query, self.briefs(organization_id, page)), total

    def _listed(self, organization_id: str, query: EntityQuery) -> tuple[list[str], int]:
        if query.sort_by in _PLACES and not query.search and (found := self._labelled(organization_id, query)):
            return found
        matching = and_(*_conditions(organization_id, query))
        with self._database.read() as connection:
            if query.search:
                # Counting takes as long as searching.
                page = _page(connection, query, matching)
                is_whole = query.offset == 0 and len(page) < query.limit
                return page, len(page) if is_whole else _count(connection, matching)
            total = _count(connection, matching)
            if query.offset >= total:
                return [], total
            return (_few if total <= FEW else _page)(connection, query, matching), total

    def _labelled(self, organization_id: str, query: EntityQuery) -> tuple[list[str], int] | None:
        for kind, words, others in (
            ("tag", query.tags, replace(query, tags=())),
            ("language", query.languages, replace(query, languages=())),
        ):
            if words:
                values = {"organization": organization_id, "kind": kind, "labels": json_list(_keys(words))}
                labelled = self._packed(_few_labelled, values)
                if len(labelled) <= FEW:
                    ids = self.matching_ids(organization_id, others, (each for (each,) in labelled))
                    order = attrgetter(_PLACES[query.sort_by], "id")
                    rows = sorted(self._rows.rows(organization_id, ids).values(), key=order)
                    ordered = rows if query.sort_order == "asc" else rows[::-1]
                    return [row.id for row in ordered[query.offset : query.offset + query.limit]], len(ordered)
        return None

    def __init__(self, database: Database, clock: Clock, feed: FeedReads) -> None:
        super().__init__(database, clock)
        self._rows = RowCache(feed, database.version, self._read_rows)

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
        """Return the entities superseded now or at a time, by visible relations from entities visible now and then."""
        values = {
            "organization": organization_id,
            "ids": json_list(entity_ids),
            "visibility": json_list(visibility),
            "at": to_micros(self._clock() if as_of is None else as_of),
        }
        if values["ids"] == "[]":
            return set()
        found = self._all(_retired_now if as_of is None else _retired_then, values)
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
                labels = {"kind": kind, "labels": json_list(_keys(words))}
                values = labels | {"organization": organization_id, "ids": json_list(found)}
                found = {row.entity_id for row in self._all(_labelled_among, values)}
        return found

    def tagged(self, organization_id: str, tags: Iterable[str]) -> set[str]:
        """Return the records with one of these tags, whatever their visibility."""
        return {row.entity_id for row in self._all(_labelled(organization_id, "tag", tags), {})}

    def _read_rows(self, organization_id: str, ids: list[str]) -> list[RecordStatus]:
        values = {"organization": organization_id, "ids": json_list(ids)}
        return [_status(row) for row in self._packed(_by_ids, values)]


def _shown(page: Sequence[str], query: EntityQuery, found: Mapping[str, Row]) -> list[Row]:
    # Some may be hidden or erased since the first read.
    return [found[each] for each in page if each in found and found[each].visibility in query.visibility]


def _few(connection: Connection, query: EntityQuery, matching: ColumnElement[bool]) -> list[str]:
    # The inner limit makes SQLite sort the matches instead of walking the index of the order.
    found = select(_table.c.id, _SORT_COLUMNS[query.sort_by].label("place")).where(matching).limit(FEW).subquery()
    order = _FEW_ORDERS[query.sort_order]
    page = select(column("id", KeyText)).select_from(found).order_by(*order)
    return list(connection.execute(page.limit(query.limit).offset(query.offset)).scalars())


def _count(connection: Connection, matching: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(_table).where(matching)).scalar_one()


def _page(connection: Connection, query: EntityQuery, matching: ColumnElement[bool]) -> list[str]:
    order = (_SORT_COLUMNS[query.sort_by], _table.c.id)
    ordered = order if query.sort_order == "asc" else [column.desc() for column in order]
    page = select(_table.c.id).where(matching).order_by(*ordered)
    return list(connection.execute(page.limit(query.limit).offset(query.offset)).scalars())


def _conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    columns, wanted = _table.c, _wanted(query)
    yield columns.organization_id == organization_id
    yield columns.visibility.in_(sorted(query.visibility))
    yield from (columns[f"{name}_key"].in_(sorted(keys)) for name, keys in wanted.items())
    shows_archived, shows_chunks = _shows_all(query, wanted)
    if not shows_archived:
        yield columns.status_key != "archived"
    if not shows_chunks:
        yield columns.source_id.is_(None)
    yield from _place_conditions(organization_id, query)
    yield from _text_conditions(organization_id, query)


def _place_conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    columns, epic = _table.c, _epics_table.c
    epics = select(epic.id).where(
        epic.organization_id == organization_id, epic.type_key == "epic", epic.visibility.in_(sorted(query.visibility))
    )
    if query.project_ids:
        yield columns.project_id.in_(sorted(set(query.project_ids)))
    if query.epic is not None:
        yield and_(columns.epic_id == query.epic, epics.where(epic.id == query.epic).exists())
    if query.no_epic:
        without = or_(columns.epic_id.is_(None), columns.epic_id.not_in(epics))
        yield and_(columns.type_key == "task", without)


def _text_conditions(organization_id: str, query: EntityQuery) -> Iterator[ColumnElement[bool]]:
    for kind, words in (("tag", query.tags), ("language", query.languages)):
        if words:
            yield _table.c.id.in_(_labelled(organization_id, kind, words))
    if query.search:
        check_text((query.search,))
        if len(query.search) > SEARCH_LENGTH:
            raise ValidationFailed(f"The text to look for has more than {SEARCH_LENGTH} characters.")
        yield _table.c.search_text.contains(plain(query.search), autoescape=True)


def _labelled(organization_id: str, kind: str, words: Iterable[str]) -> Select[tuple[str]]:
    return select(_labels.c.entity_id).where(
        _labels.c.organization_id == organization_id, _labels.c.kind == kind, _labels.c.label.in_(_keys(words))
    )


def _keys(words: Iterable[str]) -> list[str]:
    return sorted({key_of(word) for word in words})
