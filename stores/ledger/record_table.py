"""Tables whose rows are records: checked, converted, and found by equal columns.

Reading a damaged row raises RecordUnreadable; lists skip it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, insert, select, update
from sqlalchemy.schema import ColumnCollectionConstraint

from stores.errors import RecordUnreadable
from stores.ledger.columns import DAMAGE, field_names, reader, to_values
from stores.ledger.encoding import ID_BYTES, check_id, check_keys, check_text

T = TypeVar("T")
Row = TypeVar("Row")


class RecordTable(Generic[T]):
    """Keywords are columns and the values that they have. Lists are in the given order, `-` for descending."""

    def __init__(self, table: Table, kind: type[T], *order: str) -> None:
        self.table = table
        self.columns = [table.c[name] for name in field_names(kind)]
        self.read = sound_reader(kind, kind.__name__.lower())
        self._insert = insert(table)
        self._order = [table.c[each[1:]].desc() if each[0] == "-" else table.c[each] for each in order]

    def where(self, **equal: Any) -> list[ColumnElement[bool]]:
        return equal_to(self.table, **equal)

    def select(self, *conditions: ColumnElement[bool], **equal: Any) -> Select[Any]:
        return select(*self.columns).where(*conditions, *self.where(**equal)).order_by(*self._order)

    def one(
        self, connection: Connection, *conditions: ColumnElement[bool], lock: bool = False, **equal: Any
    ) -> T | None:
        found = self.select(*conditions, **equal)
        row = connection.execute(found.with_for_update() if lock else found).first()
        return None if row is None else self.read(row)

    def all(self, connection: Connection, *conditions: ColumnElement[bool], **equal: Any) -> list[T]:
        return [self.read(row) for row in connection.execute(self.select(*conditions, **equal))]

    def values(self, record: T, **more: Any) -> dict[str, Any]:
        """Return the columns of a record, or raise ValidationFailed for what cannot be stored."""
        values = to_values(record) | more
        check_cells(self.table, values)
        return values

    def insert(self, connection: Connection, record: T, **more: Any) -> None:
        connection.execute(self._insert, self.values(record, **more))

    def change(
        self, connection: Connection, values: Mapping[str, Any], *conditions: ColumnElement[bool], **equal: Any
    ) -> int:
        """Return how many rows were changed."""
        statement = update(self.table).where(*conditions, *self.where(**equal)).values(dict(values))
        return connection.execute(statement).rowcount

    def remove(self, connection: Connection, **equal: Any) -> int:
        return connection.execute(delete(self.table).where(*self.where(**equal))).rowcount


def sound_reader(record: type[T], kind: str) -> Callable[[Sequence[Any]], T]:
    """Return a `reader` that raises RecordUnreadable."""
    names, read = field_names(record), reader(record)

    def made(row: Sequence[Any]) -> T:
        try:
            return read(row)
        except DAMAGE as error:
            cells = dict(zip(names, row, strict=False))
            raise damaged(kind, cells.get("id", ""), cells.get("visibility", ""), error) from error

    return made


def damaged(kind: str, record_id: object, visibility: object, error: Exception) -> RecordUnreadable:
    return RecordUnreadable(kind, str(record_id), f"{type(error).__name__}: {error}", str(visibility))


def sound(rows: Iterable[Row], make: Callable[[Row], T]) -> list[T]:
    """Convert rows to records, skipping damaged ones."""
    found = []
    for row in rows:
        with suppress(RecordUnreadable):
            found.append(make(row))
    return found


def equal_to(table: Table, **equal: Any) -> list[ColumnElement[bool]]:
    """Return the SQL conditions: these columns have these values."""
    return [table.c[name] == value for name, value in equal.items()]


def check_cells(table: Table, cells: Mapping[str, Any]) -> None:
    """Raise ValidationFailed for text that cannot be stored, an empty id, or one too long for an index."""
    indexed = _indexed(table)
    for name, cell in cells.items():
        if isinstance(cell, str):
            if table.c[name].primary_key:
                check_id(cell)
            elif name in indexed:
                check_keys((cell,), indexed[name])
            else:
                check_text((cell,))


@cache
def _indexed(table: Table) -> dict[str, int]:
    constraints = [each for each in table.constraints if isinstance(each, ColumnCollectionConstraint)]
    columns = {column for each in table.indexes for column in each.columns}
    columns.update(column for each in constraints for column in each.columns)
    return {column.name: column.info.get("most", ID_BYTES) for column in columns}
