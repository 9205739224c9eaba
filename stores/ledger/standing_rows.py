"""Queries for standings, and what a row of them becomes."""

from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, case, select

from stores.event_times import CAPTURED_AT, recent_at
from stores.ledger import schema
from stores.ledger.damage import DAMAGE
from stores.ledger.encoding import from_micros, load_object, to_micros
from stores.ledger.groups import Facets, Standing
from stores.ledger.listed import as_json, listed
from stores.records import JsonObject

PAGE = 1_000
"""Standings in one page of all."""

_OWN = ("id", "entity_type", "visibility", "updated_at", "created_at")
_FACETS = (
    "type_key", "status_key", "priority_key", "category_key", "complexity_key", "feature_key",
    "epic_id", "project_id", "source_id",
)  # fmt: skip
_table = schema.entities


class _Kept(NamedTuple):
    metadata: JsonObject
    created_at: datetime
    updated_at: datetime


def _columns() -> list[ColumnElement[Any]]:
    """What a standing is made of; metadata where it may say when a record was captured, as hardly any does."""
    telling = case((_table.c.metadata.contains(f'"{CAPTURED_AT}"'), _table.c.metadata))
    return [*(_table.c[name] for name in (*_OWN, *_FACETS)), telling.label("telling")]


@cache
def some(dialect: str) -> Select[Any]:
    """Return the query for those of some records."""
    return select(as_json(dialect, _columns())).where(
        _table.c.organization_id == bindparam("organization"), _table.c.id.in_(listed(dialect, "ids"))
    )


@cache
def after(dialect: str) -> Select[Any]:
    """Return the query for a page of those of all records, by id."""
    page = (
        select(*_columns())
        .where(_table.c.organization_id == bindparam("organization"), _table.c.id > bindparam("after"))
        .order_by(_table.c.id)
        .limit(PAGE)
        .subquery()
    )
    return select(as_json(dialect, list(page.c)))


def standing(row: list[Any]) -> Standing:
    """Make a standing of a row."""
    *own, telling = row
    updated_us, created_us = own[3:5]
    recent_us = updated_us if telling is None else _recent(telling, updated_us, created_us)
    return Standing._make((*own[: len(_OWN)], recent_us, Facets(*own[len(_OWN) :]), False))


def _recent(metadata: str, updated_us: int, created_us: int) -> int:
    try:
        return to_micros(recent_at(_Kept(load_object(metadata), from_micros(created_us), from_micros(updated_us))))
    except DAMAGE:
        return updated_us
