"""The OpenAPI 3.1 document, generated from the catalogue."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from html import escape
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from rest_bridge.bodies import FORM
from rest_bridge.envelope import STATUSES
from rest_bridge.routes import Placement
from stores.records import JsonObject
from tools.frame.arguments import Schema, rebuilt, without_null
from tools.frame.operation import ACCESS_COOKIE, Download, Operation, Redirect, Result, Route
from tools.frame.threads import in_thread
from tools.records.projects import FIELDS

_PREFIX = "#/components/schemas/"


class Error(Result):
    """Why the request was refused, and what to do about it."""

    error: str = Field(description="A stable code.")
    message: str = Field(description="The error, with the name of its subject.")
    request_id: str = Field(description="The id to quote; the X-Request-ID header has it too.")
    remediation: str = Field(description="The way out.")
    details: JsonObject = Field({}, description="For a validation error: the `field` and the `expected` value.")


def _header(description: str, *, required: bool = False, **schema: object) -> Schema:
    return {"description": description, "required": required, "schema": schema}


_ID = "The id of this exchange; yours if you sent a well-formed one."
_AGAIN = "`true` when this repeats the stored answer of an earlier request with the same key."
_STAMPS: Schema = {
    "X-Request-ID": _header(_ID, required=True, type="string", pattern="^[A-Za-z0-9_.:-]{1,128}$"),
    "X-Engrain-Version": _header("The version of the server.", required=True, type="string", minLength=1),
}
_REPLAYED: Schema = {"Idempotency-Replayed": _header(_AGAIN, type="string", const="true")}
_REDIRECT: Schema = {
    "Location": _header("Where the browser goes next.", required=True, type="string", format="uri-reference"),
    "Set-Cookie": _header("What the browser keeps.", type="string"),
}
_IDEMPOTENCY_KEY: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes the write safe to repeat: the same key and body give the first answer again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]+$"},
}
_UNKEPT_ANSWER: Schema = {
    **_IDEMPOTENCY_KEY,
    "description": "Makes the write safe to repeat: the same key is refused once it was done, because the answer holds "
    "a secret and is stored nowhere.",
}
_REVISION_TAG: Schema = {"type": "string", "pattern": '^(\\*|(W/)?("[1-9][0-9]{0,17}"|[1-9][0-9]{0,17}))$'}
_STATUS_HEADERS: Mapping[int, Schema] = {
    401: {"WWW-Authenticate": _header("How to authenticate.", type="string")},
    405: {"Allow": _header("The methods of this path.", type="string")},
    429: {"Retry-After": _header("Seconds to wait.", type="integer", minimum=1)},
}


def build_document(operations: Iterable[Operation], *, version: str, server: str | None) -> Schema:
    routed = [(operation, operation.route) for operation in operations if operation.route is not None]
    models, schemas = _schemas([operation for operation, _ in routed])
    paths: dict[str, Schema] = {}
    for operation, route in routed:
        item = _operation(operation, route, models, schemas)
        paths.setdefault(route.path, {})[route.method.lower()] = item
    document: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "Engrain",
            "version": version,
            "description": "A memory that software teams and their coding agents share.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": schemas, "securitySchemes": _SECURITY},
    }
    if server is not None:
        document["servers"] = [{"url": server}]
    kept, fresh = set[str](), _named_in(paths)
    while fresh:
        kept |= fresh
        fresh = _named_in([schemas[name] for name in fresh]) - kept
    document["components"]["schemas"] = {name: schemas[name] for name in sorted(kept)}
    return document


def _named_in(node: object) -> set[str]:
    return set(_REFERENCE.findall(json.dumps(node)))


_REFERENCE = re.compile(f'"{_PREFIX}([^"]+)"')
_SECURITY: Schema = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An access token or an API key."},
    "cookie": {"type": "apiKey", "in": "cookie", "name": ACCESS_COOKIE, "description": "Set by signing in."},
}

Models = Mapping[tuple[Any, JsonSchemaMode], Schema]


def _schemas(operations: Sequence[Operation]) -> tuple[Models, dict[str, Schema]]:
    wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = [(Error, "serialization")]
    for operation in operations:
        wanted += [(operation.request, "validation"), (operation.result, "serialization")]
    models, document = models_json_schema(list(dict.fromkeys(wanted)), ref_template=_PREFIX + "{model}")
    definitions: dict[str, Schema] = document.get("$defs", {})
    untitled = partial(rebuilt, change=lambda each: {key: value for key, value in each.items() if key != "title"})
    return models, {name: untitled(schema) for name, schema in definitions.items()}


def _operation(operation: Operation, route: Route, models: Models, schemas: dict[str, Schema]) -> Schema:
    placement = Placement.of(operation, route)
    request = schemas[models[operation.request, "validation"]["$ref"].removeprefix(_PREFIX)]
    description = operation.description
    item: Schema = {
        "operationId": operation.name,
        "summary": description.partition(". ")[0].rstrip("."),
        "description": description,
        "tags": [route.tag],
        "security": [] if operation.roles is None else [{"bearer": []}, {"cookie": []}],
        "parameters": _parameters(operation, route, placement, request),
        "responses": _responses(operation, route, placement, models),
    }
    if placement.body:
        item["requestBody"] = _body(operation, placement, request, models, schemas)
    return item


def _parameters(operation: Operation, route: Route, placement: Placement, request: Schema) -> list[Schema]:
    properties, required = request.get("properties", {}), request.get("required", ())
    found = [
        _parameter(name, place, field, required=place == "path" or name in required)
        for place, names in (("path", placement.path), ("query", placement.query))
        for name, field in properties.items()
        if name in names
    ]
    for header, name in route.headers.items():
        about = f"{properties[name].get('description', '')} An entity tag, or `*` for any revision.".strip()
        found.append(_parameter(header.title(), "header", {**_REVISION_TAG, "description": about}, required=False))
    key = _UNKEPT_ANSWER if operation.secret else _IDEMPOTENCY_KEY
    return found + ([key] if operation.mutates else [])


def _parameter(name: str, place: str, field: Schema, *, required: bool) -> Schema:
    schema = {key: value for key, value in field.items() if key != "description"}
    if place == "query":
        # A query string cannot express null.
        schema = without_null(schema)
    parameter: Schema = {"name": name, "in": place, "required": required, "schema": schema}
    if description := field.get("description"):
        parameter["description"] = description
    return parameter


def _body(
    operation: Operation, placement: Placement, request: Schema, models: Models, schemas: dict[str, Schema]
) -> Schema:
    reference = models[operation.request, "validation"]
    required = [name for name in request.get("required", ()) if name in placement.body]
    if placement.body != frozenset(request.get("properties", {})):
        name = reference["$ref"].removeprefix(_PREFIX) + "Body"
        properties = {key: value for key, value in request["properties"].items() if key in placement.body}
        schemas[name] = {**request, "properties": properties, "required": required}
        if not required:
            del schemas[name]["required"]
        reference = {"$ref": _PREFIX + name}
    kinds = ("application/json", FORM) if operation.route and operation.route.takes_form else ("application/json",)
    return {"required": bool(required), "content": {kind: {"schema": reference} for kind in kinds}}


def _responses(operation: Operation, route: Route, placement: Placement, models: Models) -> Schema:
    headers = {**_STAMPS, **(_REPLAYED if operation.mutates and not operation.secret else {})}
    success: Schema = {"description": HTTPStatus(route.status).phrase, "headers": headers}
    if issubclass(operation.result, Redirect):
        headers |= _REDIRECT
    elif issubclass(operation.result, Download):
        success["content"] = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
    elif route.status != HTTPStatus.NO_CONTENT:
        success["content"] = {"application/json": {"schema": models[operation.result, "serialization"]}}
    errors = sorted(_statuses(operation, route, placement))
    also = {str(status): success | {"description": HTTPStatus(status).phrase} for status in route.also}
    return {str(route.status): success} | {str(status): _error_response(status) for status in errors} | also


def _statuses(operation: Operation, route: Route, placement: Placement) -> set[int]:
    found = {405, 422, 500, 503, *route.errors}
    if operation.roles is not None or route.cookies:
        found |= {401, 403}
    if placement.path or set(FIELDS) & operation.request.model_fields.keys():
        found.add(404)
    if placement.query:
        found.add(431)
    if placement.body:
        found |= {413, 415}
    if operation.mutates:
        found |= {400, 409}
    if route.rate:
        found.add(429)
    return found


def _error_response(status: int) -> Schema:
    kind = next((kind for kind, code in STATUSES.items() if code == status), None)
    code = kind.code if kind else "api_error"
    return {
        "description": f"{HTTPStatus(status).phrase}: `{code}`, or a more specific code.",
        "headers": {**_STAMPS, **_STATUS_HEADERS.get(status, {})},
        "content": {"application/json": {"schema": {"$ref": _PREFIX + "Error"}}},
    }


def document_route(path: str, media_type: str, make: Callable[[], bytes]) -> StarletteRoute:
    """Serve a document that is made on the first request."""
    content = cache(make)

    async def answer(_request: Request) -> Response:
        return Response(await in_thread(content), media_type=media_type)

    return StarletteRoute(path, answer)


def render_page(document: Mapping[str, Any]) -> str:
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    rows = "".join(
        f'<tr id="{escape(operation["operationId"])}"><td>{method.upper()}</td><td><code>{escape(path)}</code></td>'
        f"<td>{escape(operation['summary'])}</td></tr>"
        for path, item in document["paths"].items()
        for method, operation in item.items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: API</title></head><body>'
        f"<h1>{title}</h1><p>{escape(info['description'])}</p>"
        '<p>Fields, answers and errors are in <a href="openapi.json">/api/openapi.json</a>, which any OpenAPI '
        "viewer can show.</p>"
        f"<table><tr><th>Method</th><th>Path</th><th>Operation</th></tr>{rows}</table></body></html>"
    )
