"""Bulk inserts."""

from collections.abc import Sequence
from functools import cache
from itertools import chain
from operator import itemgetter

from sqlalchemy import Connection, Table, insert

from stores.ledger.rows import Values

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
