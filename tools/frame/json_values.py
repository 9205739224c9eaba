"""JSON values of clients and of the stores."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import JsonValue, WithJsonSchema

from stores.records import JsonObject

T = TypeVar("T")


def texts_in(value: JsonValue) -> list[str]:
    """Return the non-empty strings of a list; none for other values."""
    return [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else []


def without_none(given: Mapping[str, T | None]) -> dict[str, T]:
    return {name: value for name, value in given.items() if value is not None}


if TYPE_CHECKING:
    StoredJson = JsonObject
else:
    # JSON of our own stores needs no validation.
    StoredJson = Annotated[Any, WithJsonSchema({"type": "object", "additionalProperties": True})]
