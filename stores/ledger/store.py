"""Bases of the repositories; state of a transaction: connection, time, new feed rows; many values in a statement."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from stores.clock import Clock
from stores.errors import Conflict, NotFound
from stores.ledger import schema
from stores.ledger.columns import RecordTable, Rows
from stores.ledger.encoding import Values, check_id, check_keys, dump_json, to_micros
from stores.ledger.engine import Database, insert_or_skip
from stores.records import ChangeOperation, JsonObject, Kind


class AsJson(FunctionElement[str]):
    """Aggregate all rows to one JSON list of lists: the driver releases and awaits the GIL for each row."""

    type = sql.Text()
    inherit_cache = True


@compiles(AsJson)
def _as_json(element: Any, compiler: Any, **options: Any) -> str:
    return f"CAST(json_agg(json_build_array({compiler.process(element.clauses, **options)})) AS TEXT)"


@compiles(AsJson, "sqlite")
def _as_json_on_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    return f"json_group_array(json_array({compiler.process(element.clauses, **options)}))"


ROWS = 64
"""Rows per statement on SQLite, below its limit on parameters."""


def insert_rows(connection: sql.Connection, table: sql.Table, rows: Sequence[Values]) -> None:
    """Insert rows with the same columns, many by one statement: SQLite's driver releases the GIL for each."""
    if not rows:
        return
    if connection.dialect.name != "sqlite":
        connection.execute(sql.insert(table), rows)
        return
    names = tuple(rows[0])
    cells = itemgetter(*names)
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        connection.exec_driver_sql(_statement(table, names, len(some)), tuple(chain.from_iterable(map(cells, some))))


@cache
def _statement(table: sql.Table, names: Sequence[str], count: int) -> str:
    row = f"({', '.join('?' * len(names))})"
    return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {', '.join([row] * count)}"  # noqa: S608 - of ours


Cells = sql.Row[*tuple[Any, ...]]
T = TypeVar("T")


class Store:
    """Base of the repositories.

    Writing methods raise NotFound for an unknown id, Conflict for a taken one, ValidationFailed for unstorable text.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def _all(self, statement: sql.Executable, values: Mapping[str, Any] | None = None) -> Sequence[Cells]:
        with self._database.read() as connection:
            return connection.execute(statement, values).all()

    def _first(self, statement: sql.Executable, values: Mapping[str, Any] | None = None) -> Cells | None:
        with self._database.read() as connection:
            return connection.execute(statement, values).first()

    def _find(self, table: RecordTable[T], *conditions: sql.ColumnElement[bool], **equal: Any) -> T | None:
        with self._database.read() as connection:
            return table.one(connection, *conditions, **equal)

    def _list(self, table: RecordTable[T], *conditions: sql.ColumnElement[bool], **equal: Any) -> list[T]:
        with self._database.read() as connection:
            return table.all(connection, *conditions, **equal)

    def _cell(self, table: Rows, name: str, **equal: Any) -> Any:  # noqa: ANN401, RUF100  (of any type)
        with self._database.read() as connection:
            return table.cell(connection, name, **equal)

    def _one(self, statement: sql.Executable, values: Mapping[str, Any], make: Callable[[Cells], T]) -> T | None:
        row = self._first(statement, values)
        return None if row is None else make(row)

    def _packed(self, statement: sql.Executable, values: Mapping[str, Any]) -> list[Any]:
        """Return the rows of an `AsJson` query, without asking for an empty list of ids."""
        return [] if values.get("ids") == "[]" else unpacked(self._first(statement, values))


def unpacked(found: Cells | None) -> list[Any]:
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


Result = sql.CursorResult[*tuple[Any, ...]]


class Entry(NamedTuple):
    kind: Kind
    record_id: str
    operation: ChangeOperation
    revision: int
    entity_type: str
    visibility: str
    fields: JsonObject = {}  # noqa: RUF012 - never changed in place


_lock_organization = (
    sql.select(schema.organizations.c.seq)
    .where(schema.organizations.c.id == sql.bindparam("organization"), schema.organizations.c.deleted_at.is_(None))
    .with_for_update(key_share=True)
)
_advance = (
    sql.update(schema.organizations)
    .where(schema.organizations.c.id == sql.bindparam("organization"))
    .values(seq=schema.organizations.c.seq + sql.bindparam("count"), batch=sql.bindparam("new_batch"))
    .returning(schema.organizations.c.seq)
)


class Writing:
    """State of one open transaction.

    The organization's row is locked first: one writer per organization, also on PostgreSQL. Nothing read here can
    change before the commit.
    """

    def __init__(
        self, connection: sql.Connection, organization_id: str, actor_id: str, clock: Clock, *, deferred: bool
    ) -> None:
        check_keys((organization_id, actor_id))
        self.connection = connection
        self.organization_id = organization_id
        self.here: Values = {"organization": organization_id}
        """Parameter of the condition `here`."""
        self.actor_id = actor_id
        self.deferred = deferred
        self.entries: list[Entry] = []
        self.shown: list[str] = []
        self.unlinked: set[str] = set()
        """Entities created here, still without a relation."""
        self.sequence = self._lock()
        """Head of the feed; after `append_feed`, this transaction's last number."""
        self.now = clock()
        """Taken after the lock, so that times follow sequence order."""

    @property
    def wrote(self) -> bool:
        return bool(self.entries)

    def _lock(self) -> int:
        head: int | None = self.run(_lock_organization, self.here).scalar()
        if head is None:
            raise NotFound(f"Organization {self.organization_id} does not exist.")
        return head

    def run(self, statement: sql.Executable, values: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Result:
        return self.connection.execute(statement, values)

    def insert_new(self, table: sql.Table, values: Values) -> bool:
        """Insert a row; return whether its key was free."""
        return self.run(insert_or_skip(self.connection.dialect.name, table), values).rowcount == 1

    def insert_all(self, table: sql.Table, rows: Sequence[Values], kind: Kind) -> None:
        if len(rows) == 1:
            statement = insert_or_skip(self.connection.dialect.name, table)
            if self.connection.execute(statement, rows[0]).rowcount != 1:
                raise Conflict(f"{kind.capitalize()} {rows[0]['id']} exists already.")
        elif rows:
            with clashing(f"One of the ids of the {kind} rows is taken.", "What a row belongs to does not exist."):
                insert_rows(self.connection, table, rows)

    def record(self, entry: Entry) -> None:
        check_id(entry.record_id)
        self.entries.append(entry)

    def append_feed(self) -> None:
        """Number and store the feed entries; the last statements before the commit."""
        if not self.entries:
            return
        batch = uuid4().hex
        count = len(self.entries)
        advance = self.here | {"count": count, "new_batch": batch}
        self.sequence = self.run(_advance, advance).scalar_one()
        first = self.sequence - count + 1
        shared = {
            "organization_id": self.organization_id,
            "actor": self.actor_id,
            "deferred": self.deferred,
            "batch": batch,
            "created_at": to_micros(self.now),
        }
        rows = [
            {**entry._asdict(), **shared, "sequence": first + place, "fields": dump_json(entry.fields)}
            for place, entry in enumerate(self.entries)
        ]
        insert_rows(self.connection, schema.changes, rows)


class Writes:
    def __init__(self, writing: Writing) -> None:
        self._connection = writing.connection
        self.organization_id = writing.organization_id
        self._here = writing.here
        self.actor_id = writing.actor_id
        self.now = writing.now
        self._unlinked = writing.unlinked
        self._run = writing.run
        self._insert_new = writing.insert_new
        self._insert_all = writing.insert_all
        self._record = writing.record

    def _one(self, statement: sql.Executable, values: Values, make: Callable[[Any], T]) -> T | None:
        row = self._run(statement, values).first()
        return None if row is None else make(row)
