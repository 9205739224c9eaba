"""Many values in one statement: JSON in SQL, and bulk inserts."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Select, Table, Text, bindparam, column, insert, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from stores.ledger.encoding import dump_json
from stores.ledger.rows import Values


class AsJson(FunctionElement[str]):
    """Aggregate all rows to one JSON list of lists: the driver releases and awaits the GIL for each row."""

    type = Text()
    inherit_cache = True


@compiles(AsJson)
def _as_json(element: Any, compiler: Any, **options: Any) -> str:
    return f"CAST(json_agg(json_build_array({compiler.process(element.clauses, **options)})) AS TEXT)"


@compiles(AsJson, "sqlite")
def _as_json_on_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    return f"json_group_array(json_array({compiler.process(element.clauses, **options)}))"


class _JsonTexts(FunctionElement[str]):
    inherit_cache = True


@compiles(_JsonTexts)
def _texts(element: Any, compiler: Any, **options: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS JSON))"


@compiles(_JsonTexts, "sqlite")
def _texts_on_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


def listed(name: str) -> Select[Any]:
    """Select the texts of a JSON list parameter; hundreds of bound parameters are slower."""
    return select(_JsonTexts(bindparam(name, type_=Text)).table_valued(column("value", Text)).c.value)


def json_list(texts: Iterable[str]) -> str:
    """Return the distinct texts as the value of a `listed` parameter."""
    return dump_json(list[Any](dict.fromkeys(texts)))


ROWS = 64
"""Rows per statement on SQLite, below its limit on parameters."""


def insert_rows(connection: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert rows with the same columns, many by one statement: SQLite's driver releases the GIL for each."""
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
