"""Discovery of the authorization server by MCP clients (RFC 9728)."""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json
from starlette.datastructures import URL
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rest_bridge.hosts import require_own_host
from stores.errors import AuthenticationRequired
from tools.runtime.settings import Settings

MCP_PATH = "/mcp"
ROOT_METADATA_PATH = "/.well-known/oauth-protected-resource"
METADATA_PATH = ROOT_METADATA_PATH + MCP_PATH
RESOURCE_METADATA_PATHS = (METADATA_PATH, ROOT_METADATA_PATH)


def challenge(scope: Scope, settings: Settings, reason: str) -> Response:
    """Refuse with the pointers that an OAuth client needs to get a token."""
    error = AuthenticationRequired(reason, code="invalid_token")
    quoted = reason.replace("\\", "").replace('"', "'")
    header = (
        f'Bearer error="invalid_token", error_description="{quoted}", '
        f'scope="mcp", resource_metadata="{base_url(scope, settings)}{METADATA_PATH}"'
    )
    headers = {"WWW-Authenticate": header.encode("ascii", "replace").decode(), "Cache-Control": "no-store"}
    body = {
        "error": error.code,
        "error_description": reason,
        "message": reason,
        "request_id": scope.get("engrain.request_id", ""),
        "remediation": error.remediation,
    }
    return Response(to_json(body), 401, headers, "application/json")


def base_url(scope: Scope, settings: Settings) -> str:
    address = settings.base_url or str(URL(scope=scope).replace(path="", query=""))
    return address.rstrip("/")


class ResourceMetadata:
    """OAuth description of `/mcp` as a protected resource (RFC 9728)."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        require_own_host(scope, self.settings)
        address = base_url(scope, self.settings)
        document: Mapping[str, Any] = {
            "resource": address + MCP_PATH,
            "resource_name": "Engrain",
            "authorization_servers": [address],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["mcp"],
        }
        headers = {"Cache-Control": "no-store"}
        await Response(to_json(document), 200, headers, "application/json")(scope, receive, send)
