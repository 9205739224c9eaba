"""JSON Schemas for agents: short, self-contained and without the noise that costs a model tokens."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_NAMED = ("properties", "$defs", "patternProperties")
"""Keywords whose keys are names that somebody chose, not keywords."""
_NULL: Schema = {"type": "null"}


def input_schema(model: type[BaseModel], omit: frozenset[str]) -> Schema:
    """Describe a tool's arguments. An optional argument is one to leave out, so null is not offered (but accepted).

    Raises:
        ValueError: An argument has no description.
    """
    schema = _plain(model.model_json_schema(mode="validation"), offer_null=False)
    properties = {name: field for name, field in schema.get("properties", {}).items() if name not in omit}
    if silent := [name for name, field in properties.items() if not field.get("description")]:
        raise ValueError(f"{model.__name__} has arguments without a description: {', '.join(silent)}")
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required := [name for name in schema.get("required", ()) if name in properties]:
        found["required"] = required
    if definitions := _used(properties, schema.get("$defs", {})):
        found["$defs"] = definitions
    return found


def output_schema(model: type[BaseModel]) -> Schema:
    """Describe a tool's structured answer, without prose: a model reads the answer, a client checks its shape."""
    schema = _plain(model.model_json_schema(mode="serialization"), offer_null=True)
    return dict(_without(schema, "description", "default"))


def _plain(schema: Any, *, offer_null: bool) -> Any:
    """Drop titles, fold `anyOf` with null into one schema."""
    if isinstance(schema, list):
        return [_plain(item, offer_null=offer_null) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: {name: _plain(field, offer_null=offer_null) for name, field in value.items()}
        if key in _NAMED
        else value
        if key in ("default", "const", "enum", "examples")
        else _plain(value, offer_null=offer_null)
        for key, value in schema.items()
        if key != "title"
    }
    return _folded(found, offer_null=offer_null)


def _folded(schema: Schema, *, offer_null: bool) -> Schema:
    options = schema.get("anyOf", [])
    if _NULL not in options:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    others = [option for option in options if option != _NULL]
    if len(others) != 1:
        return {**rest, "anyOf": options if offer_null else others}
    only = others[0]
    if not offer_null:
        return {**only, **rest}
    if isinstance(only.get("type"), str) and "enum" not in only and "const" not in only:
        return {**only, **rest, "type": [only["type"], "null"]}
    return {**rest, "anyOf": options}


def _without(schema: Any, *keys: str) -> Any:
    if isinstance(schema, list):
        return [_without(item, *keys) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _without(field, *keys) for name, field in value.items()}
        if key in _NAMED
        else _without(value, *keys)
        for key, value in schema.items()
        if key not in keys
    }


def _used(node: Any, definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    """Keep the definitions that something still refers to."""
    found: dict[str, Schema] = {}
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
            name = str(item.get("$ref", "")).rpartition("/")[2]
            if name in definitions and name not in found:
                found[name] = definitions[name]
                pending.append(definitions[name])
    return found
