"""Queries for hundreds of entities at once, whole or in part, as one list."""

from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, select

from stores.ledger import schema
from stores.ledger.listed import as_json, listed
from stores.ledger.rows import Brief, Outline, entity_columns

_table = schema.entities
_of_organization = _table.c.organization_id == bindparam("organization")


@cache
def by_ids(dialect: str) -> Select[Any]:
    """Return the query for some entities, as one list."""
    return select(as_json(dialect, entity_columns(_table))).where(
        _of_organization, _table.c.id.in_(listed(dialect, "ids"))
    )


@cache
def briefs(dialect: str) -> Select[Any]:
    """Return the query for the briefs of some entities."""
    return select(as_json(dialect, [_table.c[name] for name in Brief._fields])).where(
        _of_organization, _table.c.id.in_(listed(dialect, "ids"))
    )


@cache
def outlines(dialect: str) -> Select[Any]:
    """Return the query for the outlines of some entities."""
    return select(as_json(dialect, [_table.c[name] for name in Outline._fields])).where(
        _of_organization, _table.c.id.in_(listed(dialect, "ids"))
    )
