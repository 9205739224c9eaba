"""Arguments of tools: their schemas, and repairs, synonyms and examples for the input of language models."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import ErrorDetails, from_json, to_json

from tools.frame.operation import Tool

SYNONYMS: Mapping[str, str] = {
    "query": "q question search_query keywords text prompt topic", "goal": "task prompt question q query topic text",
    "content": "text body note notes message description", "title": "name heading subject",
    "name": "title heading subject relation relation_type relationship relationship_type",
    "limit": "top_k k n n_results count size max_results num_results page_size", "page_size": "limit size top_k count",
    "entity_id": "id uuid record_id node_id task_id epic_id entity entity_ids", "depth": "max_depth",
    "entity_ids": "ids id entity entity_id", "cited_ids": "ids entity_ids", "relation_id": "id uuid entity_id",
    "entity_type": "type kind types record_type", "types": "type kind entity_type entity_types record_type",
    "kind": "type entity_type types", "type": "types record_type category", "output_type": "type kind",
    "output_format": "format", "search": "q query",
    "relationship_types": "relation relations relationship relationship_type", "source_id": "source from",
    "target_id": "target to", "project": "project_id project_name projects", "project_ids": "project projects",
    "min_score": "threshold", "since": "after from start_time", "until": "before end_time to",
    "as_of": "before at date", "action": "op operation command",
    "markdown_token_budget": "max_tokens token_budget budget", "source_title": "title name",
    "data": "params args arguments", "tags": "tag", "memory_scope": "scope",
}  # fmt: skip
"""Our arguments, with words that other tools have for them."""
CLASH = "two words for one field"

FOR_AGENTS: Mapping[str, str] = {"title": "name", "entity_type": "type", "kind": "type"}
"""Fields that agents know by one name, as they read it in answers; the field's own name is accepted, too."""

SEVERAL = r"^$|[^,\s]"
"""Pattern of fields that hold comma-separated values."""
_LISTS = frozenset({"list_type", "tuple_type", "set_type", "frozen_set_type"})
_SCALARS: Mapping[str, TypeAdapter[Any]] = {
    "int_type": TypeAdapter(int), "float_type": TypeAdapter(float), "bool_type": TypeAdapter(bool),
}  # fmt: skip
_OBJECTS = frozenset({"dict_type", "model_type", "model_attributes_type"})
_LONGEST_NAME = 500
"""Characters; items of a list that may be longer are sentences, in which commas separate nothing."""

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


def names_for_agents(model: type[BaseModel]) -> dict[str, str]:
    """Return the fields of a model that agents know by another name, with that name."""
    return {name: FOR_AGENTS[name] for name in model.model_fields if name in FOR_AGENTS}


def with_own_names(data: dict[str, Any], model: type[BaseModel]) -> tuple[dict[str, Any], list[ErrorDetails]]:
    """Replace the names for agents, and older ones, by those of the model's fields; refuse two words for one field.

    Lists for comma-separated fields are joined.
    """
    own = {FOR_AGENTS.get(name, name): name for name in model.model_fields}
    found: dict[str, Any] = {}
    clashes = []
    for word, value in sorted(data.items(), key=lambda each: each[0] not in own):
        shown = FOR_AGENTS.get(word, word)
        name = own.get(shown, word) if shown in FOR_AGENTS.values() else word
        if found.get(name) in (None, ""):
            found[name] = _joined(value) if name in _comma_separated(model) else value
        elif value not in (None, "", found[name]):
            said = f"is another word for {shown}, which says something else; send one of them"
            clashes.append(ErrorDetails(type=CLASH, loc=(word,), msg=said, input=value))
    return found, clashes


def _joined(value: object) -> object:
    read = _decoded(value, list) if isinstance(value, str) and value.lstrip().startswith("[") else value
    return ",".join(read) if isinstance(read, list) and all(isinstance(each, str) for each in read) else value


def mended(
    data: dict[str, Any], errors: Sequence[ErrorDetails], model: type[BaseModel], *, strict: bool = False
) -> dict[str, Any] | None:
    """Replace refused values that have one other meaning; None if there are none.

    5.0 is an integer. Unless `strict`, "5" is one, too; null and "" are left out where a field is optional; JSON text
    is read as a list or an object, and other text as a comma-separated list.
    """
    copy, found = deepcopy(data), False
    for error in errors:
        with suppress(LookupError, TypeError, ValueError):  # a union's location also names the type
            found = _mend(copy, error, model, strict=strict) or found
    return copy if found else None


def _mend(data: dict[str, Any], error: ErrorDetails, model: type[BaseModel], *, strict: bool) -> bool:
    holder: Any = data
    *place, key = error["loc"]
    for part in place:
        holder = holder[part]
    value, kind = holder[key], error["type"]
    if kind == "int_type" and isinstance(value, float):
        holder[key] = _SCALARS[kind].validate_python(value)
    elif strict:
        return False
    elif value in (None, "") and isinstance(key, str):
        if not place and model.model_fields[key].is_required():
            return False
        del holder[key]
        return True
    elif kind in _SCALARS and not isinstance(value, bool):
        holder[key] = _SCALARS[kind].validate_python(value)
    elif kind == "literal_error" and isinstance(value, str) and _is_expected(value.lower(), error):
        holder[key] = value.lower()
    elif kind == "string_type" and isinstance(value, int) and not isinstance(value, bool):
        holder[key] = str(value)
    elif isinstance(value, str) and kind in _LISTS | _OBJECTS:
        read = _read(value, str(key), model) if kind in _LISTS else _decoded(value, dict)
        holder[key] = value if read is None else read
    return bool(holder[key] != value or type(holder[key]) is not type(value))


def _is_expected(word: str, error: ErrorDetails) -> bool:
    return "'" not in word and f"'{word}'" in error["ctx"]["expected"]


def _read(text: str, name: str, model: type[BaseModel]) -> object:
    if text.lstrip().startswith(("[", "{")):
        return _decoded(text, list)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return ([text] if name in _sentences(model) else parts) if parts else None


def _decoded(text: str, wanted: type) -> object:
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    return value if isinstance(value, wanted) else None


@cache
def _comma_separated(model: type[BaseModel]) -> frozenset[str]:
    schema = model.model_json_schema()
    fields = schema.get("properties", {}).items()
    return frozenset(name for name, field in fields if _chosen(field, schema).get("pattern") == SEVERAL)


@cache
def _sentences(model: type[BaseModel]) -> frozenset[str]:
    schema = model.model_json_schema()
    fields = [each.get("properties", {}) for each in (schema, *schema.get("$defs", {}).values())]
    items = {name: _chosen(field, schema).get("items", {}) for each in fields for name, field in each.items()}
    return frozenset(name for name, item in items.items() if item.get("maxLength", 0) > _LONGEST_NAME)


def fields_at(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the fields of the object at a place in a request; none if there is no object."""
    schema = model.model_json_schema()
    node: Mapping[str, Any] = schema
    for part in place:
        node = _chosen(node, schema)
        node = node.get("items", {}) if isinstance(part, int) else node.get("properties", {}).get(part, {})
    return list(_chosen(node, schema).get("properties", ()))


def examples(model: type[BaseModel], fields: Mapping[str, str]) -> str:
    """Return a JSON object with a valid value for each of the fields, by the caller's name; empty without fields."""
    schema = model.model_json_schema()
    found = {shown: _example(shown, schema["properties"][name], schema) for shown, name in fields.items()}
    return to_json(found).decode() if found else ""


def _example(name: str, field: Mapping[str, Any], schema: Mapping[str, Any]) -> object:
    given = field.get("default")
    field = _chosen(field, schema)
    kind, inner = field.get("type"), field.get("properties", {})
    if given or "enum" in field or "const" in field:
        return given or field.get("const") or field["enum"][0]
    if kind == "array":
        return [_example(name, field["items"], schema)]
    if kind == "object":
        return {each: _example(each, inner[each], schema) for each in field.get("required", ())}
    if kind in ("integer", "number"):
        return min(max(1, field.get("minimum", 1)), field.get("maximum", 1))
    return True if kind == "boolean" else f"<{name}>"


def _chosen(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    options = [option for option in field.get("anyOf", ()) if option.get("type") != "null"]
    field = options[0] if options else field
    reference = field.get("$ref", "").rpartition("/")[2]
    return _chosen(schema["$defs"][reference], schema) if reference else field


def input_schema(model: type[BaseModel], tool: Tool) -> Schema:
    """Make the schema of a tool's arguments by their names for agents, without null for optional ones."""
    schema = rebuilt(model.model_json_schema(mode="validation"), _shortened)
    properties = {name: field for name, field in schema.get("properties", {}).items() if name not in tool.omit}
    for name, words in tool.omit_values.items():
        properties[name] = {
            **properties[name],
            "enum": [each for each in properties[name]["enum"] if each not in words],
        }
    for name, value in tool.defaults.items():
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
    """Copy a JSON schema; `change` gets a copy of each schema in it, the inner ones first, and returns the result."""
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
    return without_null(found)


def without_null(schema: Schema) -> Schema:
    """Drop null from the types of an optional field, and from its default."""
    options = schema.get("anyOf", [])
    if _NULL not in options:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf" and (key, value) != ("default", None)}
    others = [option for option in options if option != _NULL]
    return {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}
