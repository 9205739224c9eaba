"""JSON values of clients and of the stores."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import any_schema

from stores.records import JsonObject

T = TypeVar("T")


def texts_in(value: JsonValue) -> list[str]:
    """Return the non-empty strings of a list; none if it is no list."""
    return [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else []


def without_none(given: Mapping[str, T | None]) -> dict[str, T]:
    return {name: value for name, value in given.items() if value is not None}


class _Known:
    """Skips the validation of JSON from our own stores."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return any_schema()

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object", "additionalProperties": True}


StoredJson = Annotated[JsonObject, _Known]
