"""Liveness, readiness and `/api/`, without authentication."""

from typing import Any

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rest_bridge.openapi import error_response, json_response
from tools.app import App
from tools.runtime.health import health, readiness
from tools.runtime.threads import in_thread
from tools.runtime.version import VERSION

Schema = dict[str, Any]


class Root:
    """`/api/`: name and version of this server, and where to read on."""

    def __init__(self) -> None:
        self.body = to_json(
            {
                "name": "Engrain",
                "version": VERSION,
                "docs": "/api/docs",
                "openapi": "/api/openapi.json",
                "websocket": "/api/ws",
                "mcp": "/mcp",
            }
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(self.body, media_type="application/json")(scope, receive, send)


class Liveness:
    """`/api/health`: touches no store, so that a slow disk does not kill it."""

    def __init__(self) -> None:
        self._body: bytes | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._body is None:
            self._body = to_json(await in_thread(health))
        await Response(self._body, headers=_UNCACHED, media_type="application/json")(scope, receive, send)


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
_RUNTIME: Schema = {
    "type": "object",
    "required": ["name", "commit"],
    "properties": {
        "name": {"const": "engrain"},
        "commit": {
            "type": ["string", "null"],
            "description": "The commit that the code is of, as it was at the start, with `+` and a hash where files "
            "differ from it; null for an installed package.",
        },
    },
}
_READINESS: Schema = {
    "type": "object",
    "required": ["status", "dependencies", "indexes", "warnings"],
    "properties": {
        "status": {"enum": ["ready", "not_ready"]},
        "dependencies": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "ready"],
                "properties": {
                    "name": _STRING,
                    "ready": {"type": "boolean"},
                    "detail": {"type": ["string", "null"]},
                    "latency_ms": {"type": ["number", "null"]},
                },
            },
        },
        "indexes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "pending", "state"],
                "properties": {
                    "name": _STRING,
                    "pending": {"type": "integer", "minimum": 0, "description": "Changes not applied yet."},
                    "watermark": {"type": ["integer", "null"], "description": "The last change applied."},
                    "state": _STRING,
                    "refused": {"type": "integer", "minimum": 0, "description": "Records that cannot be indexed."},
                },
            },
        },
        "warnings": {
            "type": "array",
            "items": _STRING,
            "description": "What an operator should know about the settings.",
        },
    },
}


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


def _facts(*names: str) -> Schema:
    return {"type": "object", "required": list(names), "properties": dict.fromkeys(names, _STRING)}


PATHS: dict[str, Schema] = {
    "/api/": _get(
        "about", "What this server is", {"200": json_response("OK", _facts("name", "version", "docs", "websocket"))}
    ),
    "/api/health": _get(
        "health",
        "Whether the server is alive",
        {
            "200": json_response(
                "OK",
                {
                    "type": "object",
                    "required": ["status", "version", "runtime"],
                    "properties": {"status": {"const": "healthy"}, "version": _STRING, "runtime": _RUNTIME},
                },
            )
        },
    ),
    "/api/health/ready": _get(
        "ready",
        "Whether everything that a request may need is there",
        {"200": json_response("Ready", _READINESS), "503": json_response("Not ready", _READINESS)},
    ),
}
