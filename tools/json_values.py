"""What clients put into free JSON, as far as it is what was meant to be there."""

from typing import Annotated

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import any_schema

from stores.records import JsonObject


def texts_in(value: JsonValue) -> list[str]:
    """The texts of a list that are not empty; none where it is no list."""
    return [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else []


class _Known:
    """Marks what the server has read from its own stores: valid JSON, which is not looked through once more."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return any_schema()

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object", "additionalProperties": True}


StoredJson = Annotated[JsonObject, _Known]
"""A JSON object in a result. Checking and writing it value by value took most of the time of a page of records."""
