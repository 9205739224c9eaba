"""Liveness, readiness and `/api/`, without authentication."""

from typing import Any

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from rest_bridge.openapi import error_response, json_response
from tools.app import App
from tools.runtime.health import health, readiness
from tools.runtime.threads import in_thread
from tools.runtime.version import VERSION

Schema = dict[str, Any]


async def about(_request: Request) -> Response:
    return JSONResponse(
        {
            "name": "Engrain",
            "version": VERSION,
            "docs": "/api/docs",
            "openapi": "/api/openapi.json",
            "websocket": "/api/ws",
            "mcp": "/mcp",
        }
    )


async def liveness(_request: Request) -> Response:
    """Answer without any store, so that a slow disk does not kill the server."""
    return JSONResponse(health(), headers=_UNCACHED)


class Readiness:
    """`/api/health/ready`: 200 if every part that a request needs is ready, else 503."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        report = await in_thread(readiness, self.app)
        status = 200 if report["status"] == "ready" else 503
        await Response(to_json(report), status, _UNCACHED, "application/json")(scope, receive, send)


_UNCACHED = {"Cache-Control": "no-store"}

_STRING: Schema = {"type": "string"}


def _maybe(kind: str, **more: str) -> Schema:
    return {"type": [kind, "null"], **more}


def _count(description: str) -> Schema:
    return {"type": "integer", "minimum": 0, "description": description}


def _list(items: Schema, **more: str) -> Schema:
    return {"type": "array", "items": items, **more}


def _object(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties}


_COMMIT = _maybe(
    "string",
    description="The commit that the code is of, as it was at the start, with `+` and a hash where files "
    "differ from it; null for an installed package.",
)
_RUNTIME = _object("name", "commit", name={"const": "engrain"}, commit=_COMMIT)
_HEALTH = _object("status", "version", "runtime", status={"const": "healthy"}, version=_STRING, runtime=_RUNTIME)
_DEPENDENCY = _object(
    "name", "ready", name=_STRING, ready={"type": "boolean"}, detail=_maybe("string"), latency_ms=_maybe("number")
)
_INDEX = _object(
    "name",
    "pending",
    "state",
    name=_STRING,
    pending=_count("Changes not applied yet."),
    watermark=_maybe("integer", description="The last change applied."),
    state=_STRING,
    refused=_count("Records that cannot be indexed."),
)
_READINESS = _object(
    "status",
    "dependencies",
    "indexes",
    "warnings",
    status={"enum": ["ready", "not_ready"]},
    dependencies=_list(_DEPENDENCY),
    indexes=_list(_INDEX),
    warnings=_list(_STRING, description="What an operator should know about the settings."),
)
_FACTS = ("name", "version", "docs", "websocket")
_ABOUT = _object(*_FACTS, **dict.fromkeys(_FACTS, _STRING))


def _get(name: str, summary: str, responses: Schema) -> Schema:
    errors = {str(status): error_response(status) for status in (405, 500)}
    operation = {
        "operationId": name,
        "summary": summary,
        "description": f"{summary}.",
        "tags": ["health"],
        "security": [],
        "parameters": [],
        "responses": {**responses, **errors},
    }
    return {"get": operation}


PATHS: dict[str, Schema] = {
    "/api/": _get("about", "What this server is", {"200": json_response("OK", _ABOUT)}),
    "/api/health": _get("health", "Whether the server is alive", {"200": json_response("OK", _HEALTH)}),
    "/api/health/ready": _get(
        "ready",
        "Whether everything that a request may need is there",
        {"200": json_response("Ready", _READINESS), "503": json_response("Not ready", _READINESS)},
    ),
}
