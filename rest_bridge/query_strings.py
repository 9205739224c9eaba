"""Conversion of strings to the JSON types of their fields."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

from pydantic import BaseModel, JsonValue
from starlette.types import Scope

from stores.errors import ValidationFailed
from stores.records import JsonObject

_INTEGER = re.compile(r"[+-]?\d{1,400}", re.ASCII)
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


def read_query(scope: Scope) -> dict[str, list[str]]:
    return read_pairs(scope.get("query_string", b""), "query")


def read_pairs(encoded: bytes, place: str, most: int | None = None) -> dict[str, list[str]]:
    """Read URL-encoded pairs: the values of each name, in order."""
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        named = "query string" if place == "query" else "form"
        raise ValidationFailed(
            f"The {named} is not valid UTF-8, or has too many fields.",
            details={"field": place, "expected": "percent-encoded UTF-8"},
        ) from None
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


class Coercion:
    """Converts the strings of paths, queries and forms to what a request model takes: texts, integers, booleans."""

    def __init__(self, model: type[BaseModel]) -> None:
        fields = model.model_json_schema().get("properties", {})
        self.types = {
            name: {option.get("type") for option in (field, *field.get("anyOf", ()))} for name, field in fields.items()
        }

    def one(self, name: str, raw: str) -> JsonValue:
        """Convert a string to the type of its field; validation refuses one that does not fit."""
        if "boolean" in self.types[name] and raw.lower() in _TRUE | _FALSE:
            return raw.lower() in _TRUE
        return int(raw) if "integer" in self.types[name] and _INTEGER.fullmatch(raw) else raw

    def fields(self, names: frozenset[str], given: Mapping[str, Sequence[str]], place: str) -> JsonObject:
        """Pick the named fields; `place` is `query` or `body`."""
        found: JsonObject = {}
        for name in names & given.keys():
            if len(given[name]) > 1:
                raise ValidationFailed(
                    f"The parameter `{name}` was given {len(given[name])} times and takes one value.",
                    details={"field": f"{place}.{name}", "expected": "one value"},
                )
            found[name] = self.one(name, given[name][0])
        return found
