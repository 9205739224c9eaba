"""Handling of damaged rows: lists skip them one by one."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from stores.errors import RecordUnreadable

T = TypeVar("T")
Row = TypeVar("Row", bound=Sequence[Any])

DAMAGE = (ValueError, TypeError, OverflowError, RecursionError)
"""Errors of decoding a damaged cell."""


class Read(NamedTuple, Generic[T]):
    """Records by id, and reasons why others cannot be read."""

    found: Mapping[str, T]
    unreadable: Mapping[str, str]


def damaged(kind: str, record_id: object, visibility: object, error: Exception) -> RecordUnreadable:
    return RecordUnreadable(kind, str(record_id), f"{type(error).__name__}: {error}", str(visibility))


def sound(rows: Iterable[Row], make: Callable[[Row], T]) -> list[T]:
    """Convert rows to records, skipping damaged ones."""
    rows = list(rows)
    try:
        return list(map(make, rows))
    except RecordUnreadable:
        return [record for row in rows for record in _made(row, make)]


def _made(row: Row, make: Callable[[Row], T]) -> Iterator[T]:
    try:
        yield make(row)
    except RecordUnreadable:
        return


def apart(ids: Sequence[str], read: Callable[[Sequence[str]], Mapping[str, T]]) -> Read[T]:
    """Read records together; bisect where one of them is damaged."""
    try:
        return Read(read(ids), {})
    except RecordUnreadable as error:
        if len(ids) == 1:
            return Read({}, {ids[0]: error.reason})
    middle = len(ids) // 2
    one, other = apart(ids[:middle], read), apart(ids[middle:], read)
    return Read({**one.found, **other.found}, {**one.unreadable, **other.unreadable})
