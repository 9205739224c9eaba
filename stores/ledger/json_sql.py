"""JSON in SQL: many values in or out of a query as one text."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import JSON, ColumnElement, Select, Text, bindparam, cast, column, func, select


def as_json(dialect: str, columns: Sequence[ColumnElement[Any]]) -> ColumnElement[str]:
    """Aggregate all rows to one JSON list of lists.

    The driver releases the GIL after each row, and waits to get it back.
    """
    if dialect == "sqlite":
        return func.json_group_array(func.json_array(*columns))
    return cast(func.json_agg(func.json_build_array(*columns)), Text)


def listed(dialect: str, name: str) -> Select[Any]:
    """Select the texts of a JSON list parameter; hundreds of bound parameters are slower."""
    texts = bindparam(name, type_=Text)
    if dialect == "sqlite":
        found = func.json_each(texts).table_valued(column("value", Text))
    else:
        found = func.json_array_elements_text(cast(texts, JSON)).table_valued(column("value", Text))
    return select(found.c.value)
