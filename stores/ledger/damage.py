"""Damaged rows: reading one raises RecordUnreadable, lists skip it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from stores.errors import RecordUnreadable

T = TypeVar("T")
Row = TypeVar("Row")

DAMAGE = (ValueError, TypeError, OverflowError, RecursionError)
"""Errors of decoding a damaged cell."""


def damaged(kind: str, record_id: object, visibility: object, error: Exception) -> RecordUnreadable:
    return RecordUnreadable(kind, str(record_id), f"{type(error).__name__}: {error}", str(visibility))


def checked(kind: str, make: Callable[[Sequence[Any]], T]) -> Callable[[Sequence[Any]], T]:
    """Make `make` raise RecordUnreadable; the id is the first cell."""

    def made(row: Sequence[Any]) -> T:
        try:
            return make(row)
        except DAMAGE as error:
            raise damaged(kind, row[0], "", error) from error

    return made


def sound(rows: Iterable[Row], make: Callable[[Row], T]) -> list[T]:
    """Convert rows to records, skipping damaged ones."""

    def made(row: Row) -> T | None:
        try:
            return make(row)
        except RecordUnreadable:
            return None

    return [record for row in rows if (record := made(row)) is not None]
