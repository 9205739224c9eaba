"""Addresses of this server; discovery by MCP clients: the resource (RFC 9728) and the server (RFC 8414)."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from auth.grants import AUTH_METHODS, GRANT_TYPES, SCOPE
from rest_bridge.envelope import refusal, require_own_host
from stores.errors import AuthenticationRequired
from stores.records import JsonObject
from tools.runtime.settings import Settings

MCP_PATH = "/mcp"
ROOT_METADATA_PATH = "/.well-known/oauth-protected-resource"
RESOURCE_METADATA_PATHS = (ROOT_METADATA_PATH + MCP_PATH, ROOT_METADATA_PATH)
AUTHORIZE_PATH = "/authorize"
TOKEN_PATH = "/token"  # noqa: S105 - a path
REGISTER_PATH = "/register"
REVOKE_PATH = "/revoke"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
SERVER_METADATA_PATHS = (SERVER_METADATA, SERVER_METADATA + MCP_PATH)


def challenge(scope: Scope, settings: Settings, reason: str) -> Response:
    """Refuse with the pointers that an OAuth client needs to get a token."""
    host = base_url(scope, settings).removesuffix(prefix := public_path(scope, ""))
    quoted = reason.replace("\\", "").replace('"', "'")
    header = (
        f'Bearer error="invalid_token", error_description="{quoted}", '
        f'scope="mcp", resource_metadata="{host}{ROOT_METADATA_PATH}{prefix}{MCP_PATH}"'
    )
    headers = {"WWW-Authenticate": header.encode("ascii", "replace").decode()}
    error = AuthenticationRequired(reason, code="invalid_token")
    return refusal(error, scope, headers, oauth=error.code)


def base_url(scope: Scope, settings: Settings) -> str:
    address = settings.base_url or str(URL(scope=scope).replace(path="", query=""))
    return address.rstrip("/")


def discovery_routes(settings: Settings) -> list[Route]:
    """Make the endpoints of the documents that describe this server; the address of a request goes into them."""

    def describing(describe: Callable[[str], JsonObject]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            require_own_host(request.scope, settings)
            return JSONResponse(describe(base_url(request.scope, settings)), headers={"Cache-Control": "no-store"})

        return answer

    described = [(RESOURCE_METADATA_PATHS, resource_metadata), (SERVER_METADATA_PATHS, server_metadata)]
    return [Route(path, describing(each), methods=["GET"]) for paths, each in described for path in paths]


def resource_metadata(address: str) -> JsonObject:
    return {
        "resource": address + MCP_PATH,
        "resource_name": "Engrain",
        "authorization_servers": [address],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["mcp"],
    }


def server_metadata(issuer: str) -> JsonObject:
    methods = list(AUTH_METHODS)
    return {
        "issuer": issuer,
        "authorization_endpoint": issuer + AUTHORIZE_PATH,
        "token_endpoint": issuer + TOKEN_PATH,
        "registration_endpoint": issuer + REGISTER_PATH,
        "revocation_endpoint": issuer + REVOKE_PATH,
        "scopes_supported": [SCOPE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "token_endpoint_auth_methods_supported": [*methods],
        "revocation_endpoint_auth_methods_supported": [*methods],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "protected_resources": [issuer + MCP_PATH],
    }


_PREFIX = "engrain.prefix"


def public_path(scope: Mapping[str, Any], path: str) -> str:
    """Return a path of this server as browsers see it."""
    return f"{scope.get(_PREFIX, '')}{path}"


class Prefix:
    """Middleware that removes the public address's path; in discovery documents it follows theirs (RFC 8414, 3.1)."""

    def __init__(self, app: ASGIApp, *, base_url: str | None) -> None:
        self.app = app
        self.prefix = urlsplit(base_url or "").path.rstrip("/")
        self.pattern = re.compile(rf"(/\.well-known/[^/]+)?{re.escape(unquote(self.prefix))}(?=/|$)")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.prefix and scope["type"] in ("http", "websocket"):
            scope[_PREFIX] = self.prefix
            if found := self.pattern.match(scope["path"]):
                scope["path"] = ((found[1] or "") + scope["path"][found.end() :]) or "/"
        await self.app(scope, receive, send)
