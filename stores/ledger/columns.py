"""Column types. Instants are microseconds since 1970 and JSON is text, on every database."""

from dataclasses import fields
from typing import Any

from sqlalchemy import BigInteger, Column, ForeignKey, MetaData, Table, Text

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

KeyText = Text().with_variant(Text(collation="C"), "postgresql")
"""Text compared by code point, whatever the locale of the server."""


def key(name: str, *, primary_key: bool = False, nullable: bool = False, unique: bool = False) -> Column[str]:
    # `unique=False` would mean a plain index.
    return Column(name, KeyText, primary_key=primary_key, nullable=nullable, unique=unique or None)


def words(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


def micros(name: str, *, nullable: bool = False, index: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable, index=index or None)


def of_user(*, nullable: bool = False) -> Column[str]:
    return Column("user_id", KeyText, ForeignKey("users.id", ondelete="CASCADE"), nullable=nullable, index=True)


def of_organization(*, nullable: bool = False) -> Column[str]:
    return Column("organization_id", KeyText, ForeignKey("organizations.id"), nullable=nullable, index=True)


def field_names(record: type[Any]) -> tuple[str, ...]:
    """Return the fields of a dataclass, in the order in which its rows are read."""
    return tuple(each.name for each in fields(record))


def columns_of(table: Table, record: type[Any]) -> list[Column[Any]]:
    return [table.c[name] for name in field_names(record)]
