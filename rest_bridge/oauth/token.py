"""`/token` and `/revoke`."""

import base64
from collections.abc import Mapping
from urllib.parse import unquote_plus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope

from auth.grants import CodeExchange, Issued, RefreshExchange
from auth.grants_clients import RegisteredClient
from auth.grants_errors import ClientUnknown, OAuthRefused
from auth.origin import Origin, client_of, user_agent_of
from rest_bridge.oauth.endpoint import UNCACHED, ClientEndpoint, answered
from rest_bridge.pages.forms import read_form
from rest_bridge.request_ids import REQUEST_ID
from stores.records import JsonObject
from tools.app import App
from tools.runtime.threads import in_thread


class TokenEndpoint(ClientEndpoint):
    """Issue tokens for a code or a refresh token."""

    rate = "300/minute"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        given = await read_form(scope, receive)
        client = await authenticated(self.app, scope, given)
        grants, origin = self.app.accounts.grants, origin_of(scope)
        match required(given, "grant_type"):
            case "authorization_code":
                issued = await in_thread(grants.redeem, client, _code(given), origin)
            case "refresh_token":
                issued = await in_thread(grants.refresh, client, _refresh(given), origin)
            case _:
                raise OAuthRefused(
                    "unsupported_grant_type", "The grant types are authorization_code and refresh_token."
                )
        return answered(_body_of(issued))


class Revocation(ClientEndpoint):
    """Revoke the grant of a token (RFC 7009)."""

    rate = "300/minute"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        """Revoke it; the answer is the same if there is nothing to revoke."""
        given = await read_form(scope, receive)
        client = await authenticated(self.app, scope, given)
        await in_thread(self.app.accounts.grants.revoke, client, required(given, "token"), origin_of(scope))
        return Response(None, 200, UNCACHED)


def origin_of(scope: Scope) -> Origin:
    """Return the origin of a request for the audit log."""
    return Origin(scope[REQUEST_ID], client_of(scope), user_agent_of(scope))


async def authenticated(app: App, scope: Scope, given: Mapping[str, str]) -> RegisteredClient:
    client_id, secret = given.get("client_id"), given.get("client_secret")
    header = ", ".join(Headers(scope=scope).getlist("authorization"))
    if header[:6].lower() == "basic ":
        named, presented = _basic(header[6:])
        if secret is not None or client_id not in (None, named):
            raise OAuthRefused("invalid_request", "The client says in two ways who it is.")
        client_id, secret = named, presented or None
    if client_id is None:
        raise ClientUnknown("client_id is missing.")
    return await in_thread(app.accounts.clients.authenticate, client_id, secret)


def _basic(encoded: str) -> tuple[str, str]:
    try:
        named, separator, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:
        named, separator, secret = "", "", ""
    if not separator:
        raise ClientUnknown("The Authorization header is not well-formed.")
    return unquote_plus(named), unquote_plus(secret)


def required(given: Mapping[str, str], name: str) -> str:
    if name not in given:
        raise OAuthRefused("invalid_request", f"{name} is missing.")
    return given[name]


def _code(given: Mapping[str, str]) -> CodeExchange:
    return CodeExchange(
        code=required(given, "code"),
        code_verifier=required(given, "code_verifier"),
        redirect_uri=given.get("redirect_uri"),
        resource=given.get("resource"),
    )


def _refresh(given: Mapping[str, str]) -> RefreshExchange:
    scope = given.get("scope")
    scopes = None if scope is None else frozenset(scope.split())
    return RefreshExchange(required(given, "refresh_token"), scopes, given.get("resource"))


def _body_of(issued: Issued) -> JsonObject:
    answer: JsonObject = {
        "access_token": issued.access_token,
        "token_type": "Bearer",
        "expires_in": issued.expires_in,
        "scope": " ".join(issued.grant.scopes),
    }
    return answer if issued.refresh_token is None else {**answer, "refresh_token": issued.refresh_token}
