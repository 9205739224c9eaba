"""Base of the ledger's repositories."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Executable, Row
from sqlalchemy.exc import IntegrityError

from stores.clock import Clock
from stores.errors import Conflict, NotFound
from stores.ledger.engine import Database
from stores.ledger.record_table import RecordTable

Cells = Row[*tuple[Any, ...]]
T = TypeVar("T")


class Store:
    """Base of the repositories.

    Writing methods raise NotFound for an unknown id, Conflict for a taken one, ValidationFailed for unstorable text.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def _all(self, statement: Executable, values: Mapping[str, Any] | None = None) -> Sequence[Cells]:
        with self._database.read() as connection:
            return connection.execute(statement, values).all()

    def _first(self, statement: Executable, values: Mapping[str, Any] | None = None) -> Cells | None:
        with self._database.read() as connection:
            return connection.execute(statement, values).first()

    def _find(self, table: RecordTable[T], *conditions: ColumnElement[bool], **equal: Any) -> T | None:
        with self._database.read() as connection:
            return table.one(connection, *conditions, **equal)

    def _list(self, table: RecordTable[T], *conditions: ColumnElement[bool], **equal: Any) -> list[T]:
        with self._database.read() as connection:
            return table.all(connection, *conditions, **equal)

    def _one(self, statement: Executable, values: Mapping[str, Any], make: Callable[[Cells], T]) -> T | None:
        row = self._first(statement, values)
        return None if row is None else make(row)

    def _packed(self, statement: Executable, values: Mapping[str, Any]) -> list[Any]:
        """Return the rows of an `AsJson` query, without asking for an empty list of ids."""
        return [] if values.get("ids") == "[]" else unpacked(self._first(statement, values))


def unpacked(found: Cells | None) -> list[Any]:
    """Decode the single row of an `AsJson` query."""
    rows: list[Any] = json.loads((found and found[0]) or "[]")
    return rows


TAKEN = "Repeating this will not help: use what exists, or choose another name or id."
"""Remediation of permanent conflicts."""


@contextmanager
def clashing(taken: str, gone: str = "") -> Iterator[None]:
    """Translate integrity errors: Conflict with `taken`, NotFound with `gone`."""
    try:
        yield
    except IntegrityError as error:
        if _is_duplicate(error):
            raise Conflict(taken, remediation=TAKEN) from error
        raise NotFound(gone or taken) from error


def _is_duplicate(error: IntegrityError) -> bool:
    if isinstance(error.orig, sqlite3.Error):
        return error.orig.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
    return getattr(error.orig, "sqlstate", None) == "23505"
