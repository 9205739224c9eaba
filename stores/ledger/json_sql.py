"""Many values in one statement: JSON in SQL, and bulk inserts."""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    insert,
    select,
)

from stores.ledger.rows import Values


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


ROWS = 64
"""Rows per statement on SQLite, below its limit on parameters."""


def insert_rows(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert rows with the same columns.

    SQLite's driver releases the GIL for each statement, so many rows share one.
    """
    if not rows:
        return
    if connection.dialect.name != "sqlite":
        connection.execute(insert(table), rows)
        return
    names = tuple(rows[0])
    cells = itemgetter(*names)
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        connection.exec_driver_sql(_statement(table, names, len(some)), tuple(chain.from_iterable(map(cells, some))))


@cache
def _statement(table: Table, names: Sequence[str], count: int) -> str:
    row = f"({', '.join('?' * len(names))})"
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {', '.join([row] * count)}"  # noqa: S608 - of ours
