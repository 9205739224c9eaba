"""Authorization server metadata (RFC 8414)."""

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from auth.grants import SCOPE
from auth.grants_clients import AUTH_METHODS, GRANT_TYPES
from rest_bridge.hosts import require_own_host
from rest_bridge.mcp_discovery import MCP_PATH, base_url
from stores.records import JsonObject
from tools.runtime.settings import Settings

AUTHORIZE_PATH = "/authorize"
TOKEN_PATH = "/token"  # noqa: S105 - a path
REGISTER_PATH = "/register"
REVOKE_PATH = "/revoke"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
SERVER_METADATA_PATHS = (SERVER_METADATA, SERVER_METADATA + MCP_PATH)


class ServerMetadata:
    """Metadata of the authorization server (RFC 8414)."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        require_own_host(scope, self.settings)
        document = describe(base_url(scope, self.settings))
        headers = {"Cache-Control": "no-store"}
        await Response(to_json(document), 200, headers, "application/json")(scope, receive, send)


def describe(issuer: str) -> JsonObject:
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
