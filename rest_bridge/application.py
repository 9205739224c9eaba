"""Composition root of the HTTP surface: all routes and middleware."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketClose

from auth.principal import Principal
from rest_bridge.authentication import Authenticate, Authentication
from rest_bridge.envelope import Faults, answer_http, no_such_path, refusal
from rest_bridge.mcp_discovery import AUTHORIZE_PATH, MCP_PATH, Prefix, base_url, discovery_routes, public_path
from rest_bridge.metrics import Metrics, RequestIds
from rest_bridge.oauth import ConsentPage, Registration, Revocation, TokenEndpoint
from rest_bridge.openapi import build_document, document_route, render_page
from rest_bridge.pages.layout import LOGIN_PATH, SIGN_UP_PATH, see
from rest_bridge.pages.login import DevicePage, LoginPage, Page, SignUpPage
from rest_bridge.routes import Endpoint, build_routes
from rest_bridge.websocket import EventSocket, LogSocket
from tools.app import App
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation
from tools.frame.threads import in_thread
from tools.people.device import PAGE as DEVICE_PATH
from tools.runtime import health
from tools.runtime.version import VERSION

if TYPE_CHECKING:
    from rest_bridge.mcp_mount import McpMount


HEAD_START_S = 0.25


class LazyMcp:
    """The ASGI endpoint at `/mcp`; requests wait until it is made."""

    def __init__(self, app: App, operations: Iterable[Operation], authenticate: Authenticate) -> None:
        self.app = app
        self.authenticate = authenticate
        self.operations = tuple(operations)
        self.asked = anyio.Event()
        self.made = anyio.Event()
        self.mount: McpMount | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Make the endpoint in the background; run its transports until the server ends."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.set()
        await self.made.wait()
        assert self.mount is not None  # noqa: S101 - set before the event
        await self.mount(scope, receive, send)

    async def _run(self) -> None:
        with anyio.move_on_after(HEAD_START_S):
            await self.asked.wait()
        self.app.preload.start()
        self.mount = await in_thread(self._make)
        async with self.mount.lifespan():
            self.made.set()
            await anyio.sleep_forever()

    def _make(self) -> "McpMount":
        from rest_bridge.mcp_mount import McpMount  # noqa: PLC0415 - late on purpose

        return McpMount(self.app, self.operations, self.authenticate)


PAGES: Mapping[str, type[Page]] = {
    LOGIN_PATH: LoginPage,
    SIGN_UP_PATH: SignUpPage,
    DEVICE_PATH: DevicePage,
    AUTHORIZE_PATH: ConsentPage,
}
_DENIAL = "websocket.http.response"
_OF_MCP = ("Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID")


def build_asgi(app: App, operations: Iterable[Operation] = OPERATIONS) -> Starlette:
    operations = (*health.OPERATIONS, *operations)
    metrics = Metrics(app)

    async def authenticate(token: str) -> Principal:
        known = app.accounts.recall(token)
        return await in_thread(app.accounts.authenticate, token) if known is None else known

    mcp = LazyMcp(app, operations, authenticate)
    by_name = {each.name: Endpoint(app, each, each.route) for each in operations if each.route is not None}

    @cache
    def document() -> dict[str, Any]:
        return build_document(operations, version=VERSION, server=app.settings.base_url)

    application = Starlette(
        routes=[
            document_route("/api/openapi.json", "application/json", lambda: to_json(document())),
            document_route("/api/docs", "text/html", lambda: render_page(document()).encode()),
            Route("/metrics", metrics, methods=["GET"]),
            *build_routes(by_name.values()),
            Route("/", _home),
            *(Route(path, page(app, by_name), methods=["GET", "POST"]) for path, page in PAGES.items()),
            WebSocketRoute("/api/ws", EventSocket(app, authenticate)),
            WebSocketRoute("/api/logs/stream", LogSocket(app, authenticate)),
            *discovery_routes(app.settings),
            *(Route(each.path, each(app), methods=["POST"]) for each in (Registration, TokenEndpoint, Revocation)),
            # Clients do not follow a redirect of a POST.
            *(Route(path, mcp) for path in (MCP_PATH, MCP_PATH + "/")),
        ],
        middleware=[
            Middleware(Prefix, base_url=app.settings.base_url),
            Middleware(RequestIds, metrics=metrics, is_https=app.settings.is_https),
            *_cors(app.settings.cors_origins),
            Middleware(Faults),
            Middleware(Authentication, authenticate=authenticate, address=lambda scope: base_url(scope, app.settings)),
        ],
        exception_handlers={HTTPException: answer_http},
        lifespan=lambda _application: mcp.lifespan(),
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


async def _home(request: Request) -> Response:
    return see(public_path(request.scope, LOGIN_PATH))


class Unmatched:
    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self.routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            denies = _DENIAL in scope.get("extensions", {})
            answer = refusal(no_such_path({**scope, "method": "GET"}), scope) if denies else WebSocketClose()
            await answer(scope, receive, send)
            return
        meant = self.meant(scope)
        if meant is None:
            raise HTTPException(404)
        # Relative: the host that a client names is not to be believed, and a proxy may have removed a prefix.
        query = scope["query_string"].decode("ascii", "replace")
        last = quote(meant.rstrip("/").rpartition("/")[2])
        location = (f"./{last}/" if meant.endswith("/") else f"../{last}") + (f"?{query}" if query else "")
        await Response(None, 307, {"Location": location})(scope, receive, send)

    def meant(self, scope: Scope) -> str | None:
        path: str = scope["path"]
        other = path.rstrip("/") if path.endswith("/") else f"{path}/"
        # Two slashes at the beginning would name another host.
        if not other or other.startswith("//"):
            return None
        at_other = {**scope, "path": other}
        found = any(route.matches(at_other)[0] is not Match.NONE for route in self.routes)
        return other if found else None
