"""Composition root of the HTTP surface: all routes and middleware."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from functools import cache
from typing import Any

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route, WebSocketRoute

from auth.principal import Principal
from rest_bridge import health
from rest_bridge.authentication import Authentication
from rest_bridge.browser_rules import standing_rules
from rest_bridge.docs_page import render_page
from rest_bridge.envelope import HANDLERS, Faults
from rest_bridge.lazy_mcp import LazyMcp
from rest_bridge.log_socket import LogSocket
from rest_bridge.mcp_discovery import MCP_PATH, base_url
from rest_bridge.metrics import Metrics, MetricsPage
from rest_bridge.oauth.routes import build_oauth
from rest_bridge.openapi import Document, build_document
from rest_bridge.pages.routes import build_pages
from rest_bridge.request_ids import RequestIds, log_exchange
from rest_bridge.routes import build_routes
from rest_bridge.unmatched import Unmatched
from rest_bridge.websocket import EventSocket
from tools.app import App
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation
from tools.runtime.threads import in_thread
from tools.runtime.version import VERSION

_OF_MCP = ("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID")


def build_asgi(app: App, operations: Iterable[Operation] = OPERATIONS) -> Starlette:
    """Make the ASGI application that serves these operations over REST, WebSocket and MCP."""
    operations = tuple(operations)
    metrics = Metrics(VERSION)

    async def authenticate(token: str) -> Principal:
        known = app.accounts.recall(token)
        return await in_thread(app.accounts.authenticate, token) if known is None else known

    mcp = LazyMcp(app, operations, authenticate)
    api = build_routes(app, operations)

    @cache
    def document() -> dict[str, Any]:
        return build_document(operations, version=VERSION, server=app.settings.base_url, extra=health.PATHS)

    @contextlib.asynccontextmanager
    async def lifespan(_application: Starlette) -> AsyncIterator[None]:
        async with mcp.lifespan():
            yield

    application = Starlette(
        routes=[
            Route("/api/", health.Root(), methods=["GET"]),
            Route("/api/health", health.Liveness(), methods=["GET"]),
            Route("/api/health/ready", health.Readiness(app), methods=["GET"]),
            Document(lambda: to_json(document()), "application/json").at("/api/openapi.json"),
            Document(lambda: render_page(document()).encode(), "text/html").at("/api/docs"),
            Route("/metrics", MetricsPage(app, metrics), methods=["GET"]),
            *api,
            *build_pages(app, api),
            WebSocketRoute("/api/ws", EventSocket(app, authenticate)),
            WebSocketRoute("/api/logs/stream", LogSocket(app, authenticate)),
            *build_oauth(app, api),
            Route(MCP_PATH, mcp),
        ],
        middleware=[
            Middleware(
                RequestIds,
                version=VERSION,
                observers=(log_exchange, metrics.observe),
                standing=standing_rules(is_https=app.settings.is_https),
            ),
            *_cors(app.settings.cors_origins),
            Middleware(Faults),
            Middleware(Authentication, authenticate=authenticate, address=lambda scope: base_url(scope, app.settings)),
        ],
        exception_handlers=dict(HANDLERS),
        lifespan=lifespan,
    )
    application.router.redirect_slashes = False
    application.router.default = Unmatched(tuple(application.routes))
    return application


def _cors(origins: Iterable[str]) -> list[Middleware]:
    allowed = list(origins)
    if not allowed:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=allowed,
            allow_credentials="*" not in allowed,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-Request-ID", *_OF_MCP],
            expose_headers=[
                *("X-Request-ID", "X-Engrain-Version", "Idempotency-Replayed", "Retry-After"),
                *("Mcp-Session-Id", "WWW-Authenticate"),
            ],
        )
    ]
