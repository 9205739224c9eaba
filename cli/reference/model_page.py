"""The reference of the objects that requests and answers are made of."""

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from cli.reference.markdown import Schema, fields_table, result_table, without_null
from rest_bridge.schemas import without_titles
from tools.catalogue import OPERATIONS

INTRO = """\
# Models

The objects in answers, and those inside of requests. The fields of a request itself stand with its
[route](rest.md) or [tool](tools.md)."""


def page() -> str:
    """Describe every model."""
    requests = dict.fromkeys(operation.request for operation in OPERATIONS)
    outer = {model.__name__ for model in requests}
    inside = {name: schema for name, schema in _schemas(*requests, mode="validation").items() if name not in outer}
    answers = _schemas(*dict.fromkeys(operation.result for operation in OPERATIONS), mode="serialization")
    sections = {name: _section(name, schema, result_table(schema)) for name, schema in answers.items()}
    sections |= {name: _section(name, schema, fields_table(without_null(schema))) for name, schema in inside.items()}
    return "\n\n".join([INTRO, *[sections[name] for name in sorted(sections)]]) + "\n"


def _schemas(*models: type[BaseModel], mode: str) -> dict[str, Schema]:
    """The schemas of these models and of all that they hold, as far as they have fields."""
    given = [(model, "validation" if mode == "validation" else "serialization") for model in models]
    _, document = models_json_schema(given)  # type: ignore[arg-type]
    schemas = {name: without_titles(schema) for name, schema in document["$defs"].items()}
    return {name: schema for name, schema in schemas.items() if schema.get("properties")}


def _section(name: str, schema: Schema, fields: str) -> str:
    return "\n\n".join([f"## {name}", " ".join(str(schema.get("description", "")).split()), fields])
