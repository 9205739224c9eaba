"""JSON Schemas without pydantic's titles, as components of a document."""

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_PREFIX = "#/components/schemas/"
_NAMED = ("properties", "$defs", "patternProperties", "dependentSchemas")
"""Keywords whose keys are names that somebody chose, not keywords."""


def without_titles(schema: Any) -> Any:
    """Drop the titles that pydantic makes of field names."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_titles(field) for name, field in value.items()} if key in _NAMED else _value(key, value)
        for key, value in schema.items()
        if key != "title"
    }


def _value(key: str, value: Any) -> Any:
    return value if key in ("default", "const", "enum", "examples") else without_titles(value)


def hoisted(definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    """Make `$defs` the components of a document; their references must already point there."""
    return {name: without_titles(schema) for name, schema in definitions.items()}


def referenced(document: Any, schemas: Mapping[str, Schema]) -> set[str]:
    """Find the components that the document's paths refer to, transitively."""
    found: set[str] = set()
    pending: list[Any] = [document["paths"]]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            pending.extend(node.values())
            name = str(node.get("$ref", "")).removeprefix(_PREFIX)
            if name in schemas and name not in found:
                found.add(name)
                pending.append(schemas[name])
    return found
