"""JSON Schemas of tools, shortened to save tokens."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from tools.frame.arguments import names_for_agents

Schema = dict[str, Any]

_NAMED = ("properties", "$defs", "patternProperties", "dependentSchemas")
"""Keywords whose keys are names of fields or definitions."""
_LITERAL = ("default", "const", "enum", "examples", "required")
"""Keywords whose values are not schemas."""
_UNWANTED = ("title", "minLength", "maxLength", "minItems", "maxItems", "pattern")
_LONG = 20
"""Longer enumerations are stated once, by the argument that takes a single value."""
_EVIDENT: tuple[tuple[str, Any], ...] = (("minimum", 0), ("minimum", 1), ("default", []))
_NULL: Schema = {"type": "null"}
_NOTHING: Mapping[str, frozenset[str]] = MappingProxyType({})


def input_schema(
    model: type[BaseModel],
    omit: frozenset[str],
    omit_values: Mapping[str, frozenset[str]] = _NOTHING,
    defaults: Mapping[str, Any] = _NOTHING,
) -> Schema:
    """Make the schema of a tool's arguments by their names for agents, without null for optional ones."""
    schema = rebuilt(model.model_json_schema(mode="validation"), _shortened)
    properties = {name: field for name, field in schema.get("properties", {}).items() if name not in omit}
    for name, words in omit_values.items():
        properties[name] = {
            **properties[name],
            "enum": [each for each in properties[name]["enum"] if each not in words],
        }
    for name, value in defaults.items():
        properties[name] = {**properties[name], "default": value}
    names = names_for_agents(model)
    shown = {names.get(name, name): field for name, field in properties.items()}
    found: Schema = {"type": "object", "properties": shown, "additionalProperties": False}
    if required := [names.get(name, name) for name in schema.get("required", ()) if name in properties]:
        found["required"] = required
    definitions = schema.get("$defs", {})

    def inlined(node: Schema) -> Schema:
        if reference := node.pop("$ref", None):
            node = rebuilt({**definitions[reference.rpartition("/")[2]], **node}, inlined)
        if node.get("additionalProperties") in ({}, True) and node.get("type") == "object":
            # The default of an object.
            del node["additionalProperties"]
        return node

    return dict(rebuilt(found, inlined))


def rebuilt(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Copy a JSON schema; `change` gets a copy of each schema in it, the inner ones first, and returns what stays."""
    if isinstance(schema, list):
        return [rebuilt(item, change) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {}
    for key, value in schema.items():
        if key in _NAMED:
            found[key] = {name: rebuilt(field, change) for name, field in value.items()}
        else:
            found[key] = value if key in _LITERAL else rebuilt(value, change)
    return change(found)


def _shortened(schema: Schema) -> Schema:
    found = {key: value for key, value in schema.items() if key not in _UNWANTED and (key, value) not in _EVIDENT}
    if len(schema.get("items", {}).get("enum", ())) > _LONG:
        found["items"] = {"type": "string"}
    return _folded(found)


def _folded(schema: Schema) -> Schema:
    options = schema.get("anyOf", [])
    if _NULL not in options:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    others = [option for option in options if option != _NULL]
    return {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}
