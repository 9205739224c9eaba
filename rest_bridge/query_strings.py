"""Conversion of strings to the JSON types of their fields."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from pydantic import JsonValue
from starlette.types import Scope

from stores.errors import ValidationFailed
from stores.records import JsonObject

_INTEGER = re.compile(r"[+-]?\d{1,400}", re.ASCII)
_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})

Schema = Mapping[str, Any]


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
    """Converts strings to the JSON types of a request model's fields."""

    def __init__(self, schema: Schema) -> None:
        definitions = schema.get("$defs", {})
        self.types = {name: _types(field, definitions) for name, field in schema.get("properties", {}).items()}
        self.items = {
            name: _types(_items(field, definitions), definitions)
            for name, field in schema.get("properties", {}).items()
        }

    def one(self, name: str, raw: str) -> JsonValue:
        """Convert a string to the type of its field; validation refuses one that does not fit."""
        return _coerce(raw, self.types[name])

    def fields(self, names: frozenset[str], given: Mapping[str, Sequence[str]], place: str) -> JsonObject:
        """Pick the named fields; `place` is `query` or `body`."""
        found: JsonObject = {}
        for name in names & given.keys():
            values = given[name]
            if "array" in self.types[name]:
                found[name] = [_coerce(value, self.items[name]) for value in values]
            elif len(values) > 1:
                raise ValidationFailed(
                    f"The parameter `{name}` was given {len(values)} times and takes one value.",
                    details={"field": f"{place}.{name}", "expected": "one value"},
                )
            else:
                found[name] = _coerce(values[0], self.types[name])
        return found


def _types(field: Schema, definitions: Mapping[str, Schema]) -> frozenset[str]:
    field = _resolve(field, definitions)
    options = [*field.get("anyOf", ()), *field.get("oneOf", ()), *field.get("allOf", ())]
    found = frozenset().union(*(_types(option, definitions) for option in options))
    kind = field.get("type", ())
    return found | ({kind} if isinstance(kind, str) else set(kind))


def _items(field: Schema, definitions: Mapping[str, Schema]) -> Schema:
    field = _resolve(field, definitions)
    for option in (field, *field.get("anyOf", ())):
        if "items" in (resolved := _resolve(option, definitions)):
            return dict(resolved["items"])
    return {}


def _resolve(field: Schema, definitions: Mapping[str, Schema]) -> Schema:
    reference = field.get("$ref")
    return definitions[reference.rpartition("/")[2]] if reference else field


def _coerce(raw: str, types: frozenset[str]) -> JsonValue:
    if "string" in types:
        return raw
    if "boolean" in types and raw.lower() in _TRUE | _FALSE:
        return raw.lower() in _TRUE
    if types & {"integer", "number"} and _INTEGER.fullmatch(raw):
        return int(raw)
    if "number" in types:
        return _number(raw)
    return raw


def _number(raw: str) -> JsonValue:
    try:
        value = float(raw)
    except ValueError:
        return raw
    return value if math.isfinite(value) else raw
