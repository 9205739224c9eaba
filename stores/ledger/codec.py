"""Conversion of dataclasses to rows and back, by the types of their fields."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from stores.ledger.columns import field_names
from stores.ledger.encoding import dump_json, from_micros, load_object, load_strings, to_micros

T = TypeVar("T")
Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def to_values(record: object) -> dict[str, Any]:
    """Return the columns of a record: instants are microseconds, collections JSON."""
    names, codecs = _shape(type(record))  # type: ignore[arg-type]  # a class is hashable
    cells = fields_of(record, names)
    for name, (encode, _) in codecs:
        if cells[name] is not None:
            cells[name] = encode(cells[name])
    return cells


def reader(record: type[T]) -> Callable[[Sequence[Any]], T]:
    """Return a function that makes a record of the first cells of a row, in the order of its fields."""
    names, codecs = _shape(record)  # type: ignore[arg-type]  # as above

    def read(row: Sequence[Any]) -> T:
        cells = dict(zip(names, row, strict=False))
        for name, (_, decode) in codecs:
            if cells[name] is not None:
                cells[name] = decode(cells[name])
        return record(**cells)

    return read


def fields_of(record: object, names: tuple[str, ...]) -> dict[str, Any]:
    return dict(zip(names, _getter(names)(record), strict=True))


_getter = cache(lambda names: attrgetter(*names))


@cache
def _shape(record: type[Any]) -> tuple[tuple[str, ...], list[tuple[str, Codec]]]:
    hints = get_type_hints(record)
    names = field_names(record)
    return names, [(name, codec) for name in names if (codec := _codec(hints[name])) is not None]


def _codec(hint: object) -> Codec | None:
    kinds = {hint, *(get_args(hint) if type(None) in get_args(hint) else ())}
    origins = {get_origin(kind) for kind in kinds}
    if datetime in kinds:
        return to_micros, from_micros
    return (dump_json, load_object) if dict in origins else (dump_json, load_strings) if tuple in origins else None
