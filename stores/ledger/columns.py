"""Tables whose rows are records: columns, conversion, and finding by equal columns.

Instants are microseconds since 1970 and JSON is text, on every database. Reading a damaged row raises
RecordUnreadable; lists skip it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import sqlalchemy as sql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ColumnCollectionConstraint, SchemaItem
from sqlalchemy.sql.functions import FunctionElement

from stores.errors import RecordUnreadable
from stores.ledger.encoding import ID_BYTES, INSTANT, OBJECT, STRINGS, check_id, check_keys, check_text, dump_json

metadata = sql.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

KeyText = sql.Text().with_variant(sql.Text(collation="C"), "postgresql")
"""Text compared by code point, whatever the locale of the server."""


def key(name: str, *, primary_key: bool = False, nullable: bool = False, unique: bool = False) -> sql.Column[str]:
    # `unique=False` would mean a plain index.
    return sql.Column(name, KeyText, primary_key=primary_key, nullable=nullable, unique=unique or None)


def keys(*names: str) -> list[sql.Column[str]]:
    return [key(name, primary_key=True) for name in names]


def number(name: str, *, nullable: bool = False, index: bool = False, primary_key: bool = False) -> sql.Column[int]:
    return sql.Column(
        name, sql.BigInteger, nullable=nullable, index=index or None, primary_key=primary_key, autoincrement=False
    )


def of_user(*, nullable: bool = False, primary_key: bool = False) -> sql.Column[str]:
    cascade = sql.ForeignKey("users.id", ondelete="CASCADE")
    return sql.Column("user_id", KeyText, cascade, nullable=nullable, index=True, primary_key=primary_key)


def of_organization(*, nullable: bool = False, primary_key: bool = False) -> sql.Column[str]:
    organization = sql.ForeignKey("organizations.id")
    return sql.Column(
        "organization_id", KeyText, organization, nullable=nullable, index=not primary_key, primary_key=primary_key
    )


def refers(table: str, *columns: str, cascade: bool = False) -> sql.ForeignKeyConstraint:
    """Return the foreign key to a table: columns of the same names, or of another one that follows a blank."""
    pairs = [each.split() for each in columns]
    targets = [f"{table}.{pair[-1]}" for pair in pairs]
    return sql.ForeignKeyConstraint([pair[0] for pair in pairs], targets, ondelete="CASCADE" if cascade else None)


def table(name: str, *parts: SchemaItem, of: type[Any] | None = None) -> sql.Table:
    """Make a table; `of` is the record whose fields are columns, too."""
    columns = [part for part in parts if isinstance(part, sql.Column)]
    others = (part for part in parts if not isinstance(part, sql.Column))
    return sql.Table(name, metadata, *(columns if of is None else columns_for(of, *columns)), *others)


def columns_for(record: type[Any], *special: sql.Column[Any]) -> list[sql.Column[Any]]:
    """Return the columns of a record's fields, plain except for the special ones; other special ones come first.

    A field `id` is the primary key.
    """
    by_name = {column.name: column for column in special}
    fields = get_type_hints(record)
    others = [column for column in special if column.name not in fields]
    return [*others, *(by_name.get(name, _column(name, hint)) for name, hint in fields.items())]


def _column(name: str, hint: object) -> sql.Column[Any]:
    kinds = {hint, *get_args(hint)}
    kind = sql.Boolean() if bool in kinds else sql.BigInteger() if kinds & {int, datetime} else KeyText
    return sql.Column(name, kind, nullable=NoneType in kinds, primary_key=name == "id", autoincrement=False)


def here(table: "sql.FromClause | Rows", parameter: str = "organization") -> sql.ColumnElement[bool]:
    """Return the SQL condition: a row of the organization in the parameter."""
    return table.c.organization_id == sql.bindparam(parameter)


class _JsonTexts(FunctionElement[str]):
    inherit_cache = True


@compiles(_JsonTexts)
def _texts(element: Any, compiler: Any, **options: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS JSON))"


@compiles(_JsonTexts, "sqlite")
def _texts_on_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


def listed(name: str) -> sql.Select[Any]:
    """Select the texts of a JSON list parameter; hundreds of bound parameters are slower."""
    return sql.select(
        _JsonTexts(sql.bindparam(name, type_=sql.Text)).table_valued(sql.column("value", sql.Text)).c.value
    )


def json_list(texts: Iterable[str]) -> str:
    """Return the distinct texts as the value of a `listed` parameter."""
    return dump_json(list[Any](dict.fromkeys(texts)))


class _Among(FunctionElement[bool]):
    # Without a type: SQLite would compare a Boolean with 1, and read no index.
    inherit_cache = True


@compiles(_Among)
def _among(element: Any, compiler: Any, **options: Any) -> str:
    # An array, so that PostgreSQL reads an index also where several conditions are joined by OR.
    column, texts = (compiler.process(each, **options) for each in element.clauses)
    return f"{column} = ANY (ARRAY(SELECT json_array_elements_text(CAST({texts} AS JSON))))"


@compiles(_Among, "sqlite")
def _among_on_sqlite(element: Any, compiler: Any, **options: Any) -> str:
    column, texts = (compiler.process(each, **options) for each in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({texts}))"  # noqa: S608 - of ours


def among(column: sql.ColumnElement[Any], parameter: str = "ids") -> sql.ColumnElement[bool]:
    """Return the SQL condition: one of the texts in a `json_list`; any number of them."""
    return _Among(column, sql.bindparam(parameter, type_=sql.Text))


def visible(table: sql.FromClause) -> sql.ColumnElement[bool]:
    """Return the SQL condition: a row with one of the visibility keys in the parameter."""
    return among(table.c.visibility, "visibility")


def beside(one: sql.Column[Any], other: sql.Column[Any]) -> sql.ColumnElement[bool]:
    """Return the SQL condition of a join: equal columns of rows of one organization."""
    return sql.and_(one.table.c.organization_id == other.table.c.organization_id, one == other)


def field_names(record: type[Any]) -> tuple[str, ...]:
    """Return the fields of a record, in the order in which its rows are read."""
    return tuple(get_type_hints(record))


T = TypeVar("T")
Codec = tuple[int, Callable[[Any], Any], Callable[[Any], Any]]
"""Place of a field, and how its values are encoded and decoded."""
DAMAGE = (ValueError, TypeError, OverflowError, RecursionError)


def to_values(record: object) -> dict[str, Any]:
    """Return the columns of a record: instants are microseconds, collections JSON."""
    names, codecs = _shape(type(record))  # type: ignore[arg-type]  # a class is hashable
    cells = fields_of(record, names)
    for place, encode, _ in codecs:
        if cells[names[place]] is not None:
            cells[names[place]] = encode(cells[names[place]])
    return cells


def reader(record: type[T]) -> Callable[[Sequence[Any]], T]:
    """Return a function that makes a record of the first cells of a row, in the order of its fields.

    It raises one of `DAMAGE` if a cell cannot be decoded.
    """
    names, codecs = _shape(record)  # type: ignore[arg-type]  # as above

    def read(row: Sequence[Any]) -> T:
        cells = list(row[: len(names)])
        for place, _, decode in codecs:
            if cells[place] is not None:
                cells[place] = decode(cells[place])
        return record(*cells)

    return read


def fields_of(record: object, names: tuple[str, ...]) -> dict[str, Any]:
    return dict(zip(names, _getter(names)(record), strict=True))


_getter = cache(lambda names: attrgetter(*names))


@cache
def _shape(record: type[Any]) -> tuple[tuple[str, ...], list[Codec]]:
    hints = get_type_hints(record)
    codecs = ((place, _codec(hint)) for place, hint in enumerate(hints.values()))
    return tuple(hints), [(place, *codec) for place, codec in codecs if codec is not None]


def _codec(hint: object) -> tuple[Callable[[Any], Any], Callable[[Any], Any]] | None:
    kinds = {hint, *(get_args(hint) if type(None) in get_args(hint) else ())}
    origins = {get_origin(kind) for kind in kinds}
    if datetime in kinds:
        return INSTANT
    return OBJECT if dict in origins else STRINGS if tuple in origins else None


Row = TypeVar("Row")


class Rows:
    """Rows of a table. Keywords are columns and the values that they have."""

    def __init__(self, table: sql.Table) -> None:
        self.table, self.c = table, table.c

    def where(self, **equal: Any) -> list[sql.ColumnElement[bool]]:
        """Return the SQL conditions: these columns have these values."""
        return [self.c[name] == value for name, value in equal.items()]

    def cell(self, connection: sql.Connection, name: str, *, lock: bool = False, **equal: Any) -> Any:  # noqa: ANN401, RUF100  (of any type)
        """Return one column of a row; None if there is no row."""
        found = sql.select(self.table.c[name]).where(*self.where(**equal))
        return connection.execute(found.with_for_update() if lock else found).scalar()

    def put(self, connection: sql.Connection, values: Mapping[str, Any]) -> None:
        connection.execute(sql.insert(self.table), values)

    def change(
        self, connection: sql.Connection, values: Mapping[str, Any], *conditions: sql.ColumnElement[bool], **equal: Any
    ) -> int:
        """Return how many rows were changed."""
        statement = sql.update(self.table).where(*conditions, *self.where(**equal)).values(dict(values))
        return connection.execute(statement).rowcount

    def remove(self, connection: sql.Connection, *conditions: sql.ColumnElement[bool], **equal: Any) -> int:
        """Return how many rows were removed."""
        return connection.execute(sql.delete(self.table).where(*conditions, *self.where(**equal))).rowcount


class RecordTable(Rows, Generic[T]):
    """Rows that are records. Lists are in the given order, `-` for descending."""

    def __init__(self, table: sql.Table, kind: type[T], *order: str) -> None:
        super().__init__(table)
        self.columns = [table.c[name] for name in field_names(kind)]
        self.read = sound_reader(kind, kind.__name__.lower())
        self._order = [table.c[each[1:]].desc() if each[0] == "-" else table.c[each] for each in order]

    def select(self, *conditions: sql.ColumnElement[bool], **equal: Any) -> sql.Select[Any]:
        return sql.select(*self.columns).where(*conditions, *self.where(**equal)).order_by(*self._order)

    def one(
        self, connection: sql.Connection, *conditions: sql.ColumnElement[bool], lock: bool = False, **equal: Any
    ) -> T | None:
        found = self.select(*conditions, **equal)
        row = connection.execute(found.with_for_update() if lock else found).first()
        return None if row is None else self.read(row)

    def all(self, connection: sql.Connection, *conditions: sql.ColumnElement[bool], **equal: Any) -> list[T]:
        return [self.read(row) for row in connection.execute(self.select(*conditions, **equal))]

    def values(self, record: T, **more: Any) -> dict[str, Any]:
        """Return the columns of a record, or raise ValidationFailed for unstorable values."""
        values = to_values(record) | more
        check_cells(self.table, values)
        return values

    def insert(self, connection: sql.Connection, record: T, **more: Any) -> None:
        self.put(connection, self.values(record, **more))

    def renew(
        self, connection: sql.Connection, values: Mapping[str, Any], *conditions: sql.ColumnElement[bool], **equal: Any
    ) -> T | None:
        """Change a row; return the record that it is now."""
        statement = sql.update(self.table).where(*conditions, *self.where(**equal)).values(dict(values))
        row = connection.execute(statement.returning(*self.columns)).first()
        return None if row is None else self.read(row)


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


def check_cells(table: sql.Table, cells: Mapping[str, Any]) -> None:
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
def _indexed(table: sql.Table) -> dict[str, int]:
    constraints = [each for each in table.constraints if isinstance(each, ColumnCollectionConstraint)]
    columns = {column for each in table.indexes for column in each.columns}
    columns.update(column for each in constraints for column in each.columns)
    return {column.name: column.info.get("most", ID_BYTES) for column in columns}
