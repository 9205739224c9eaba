"""JSON Schemas of tools, shortened to save tokens."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from tools.frame.arguments import names_for_agents

Schema = dict[str, Any]

_NAMED = ("properties", "$defs", "patternProperties")
"""Keywords whose keys are names of fields or definitions."""
_LITERAL = ("default", "const", "enum", "examples", "required")
"""Keywords whose values are not schemas."""
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems", "pattern")
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
    schema = _plain(model.model_json_schema(mode="validation"), ("title", *_LENGTHS))
    properties = {name: field for name, field in schema.get("properties", {}).items() if name not in omit}
    if silent := [name for name, field in properties.items() if not field.get("description")]:
        raise ValueError(f"{model.__name__} has arguments without a description: {', '.join(silent)}")
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
    return dict(_inlined(found, schema.get("$defs", {})))


def _plain(schema: Any, unwanted: tuple[str, ...]) -> Any:
    if isinstance(schema, list):
        return [_plain(item, unwanted) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {}
    for key, value in schema.items():
        if key in _NAMED:
            found[key] = {name: _plain(field, unwanted) for name, field in value.items()}
        elif (key, value) in _EVIDENT or key in unwanted:
            continue
        elif key == "items" and len(value.get("enum", ())) > _LONG:
            found[key] = {"type": "string"}
        else:
            found[key] = value if key in _LITERAL else _plain(value, unwanted)
    return _folded(found)


def _folded(schema: Schema) -> Schema:
    options = schema.get("anyOf", [])
    if _NULL not in options:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    others = [option for option in options if option != _NULL]
    return {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}


def _inlined(node: Any, definitions: Mapping[str, Schema]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if reference := node.get("$ref"):
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined({**definitions[reference.rpartition("/")[2]], **rest}, definitions)
    found = {key: _inlined(value, definitions) for key, value in node.items()}
    if found.get("additionalProperties") in ({}, True) and found.get("type") == "object":
        # The default of an object.
        del found["additionalProperties"]
    return found
