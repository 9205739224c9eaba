"""Base of the endpoints that clients post to, with OAuth errors."""

import base64
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import unquote_plus

from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from auth.grants import required
from auth.grants_clients import ClientUnknown, OAuthRefused
from auth.origin import client_of, origin_of
from rest_bridge.bodies import parse_object, read_body, read_form
from rest_bridge.envelope import Misdirected, UnsupportedMediaType, require_own_host, status_of
from rest_bridge.mcp_discovery import oauth_refusal
from rest_bridge.routes import FixedWindow
from stores.errors import EngrainError, InvalidRequest, PayloadTooLarge, RateLimited, ValidationFailed
from stores.ledger import OAuthClient
from stores.records import JsonObject
from tools.app import App
from tools.runtime.threads import in_thread

UNCACHED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_MALFORMED = (InvalidRequest, ValidationFailed, UnsupportedMediaType, PayloadTooLarge, Misdirected)


class ClientEndpoint:
    """Endpoint for OAuth clients; refusals have the shape of RFC 6749, section 5.2."""

    rate: ClassVar[str]

    def __init__(self, app: App) -> None:
        self.app = app
        self.limit = FixedWindow(self.rate) if app.settings.rate_limit_enabled else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            require_own_host(scope, self.app.settings)
            if self.limit is not None:
                self.limit.take(client_of(scope))
            response = await self.answer(scope, receive)
        except EngrainError as error:
            response = refusal(error, scope)
        await response(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        raise NotImplementedError


def refusal(error: EngrainError, scope: Scope) -> Response:
    headers = dict(UNCACHED)
    status = status_of(error)
    if isinstance(error, ClientUnknown):
        status, headers["WWW-Authenticate"] = 401, 'Basic realm="Engrain", charset="UTF-8"'
    elif isinstance(error, ValidationFailed | UnsupportedMediaType):
        status = 400
    elif isinstance(error, RateLimited):
        headers["Retry-After"] = str(error.retry_after_s)
    return oauth_refusal(scope, _word(error), error, status, headers)


def _word(error: EngrainError) -> str:
    if isinstance(error, OAuthRefused):
        return error.code
    if isinstance(error, _MALFORMED):
        return "invalid_request"
    return "temporarily_unavailable" if status_of(error) in (429, 503) else "server_error"


def answered(body: JsonObject, status: int = 200) -> Response:
    return Response(to_json(body), status, UNCACHED, "application/json")


class TokenEndpoint(ClientEndpoint):
    rate = "300/minute"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        given = await read_form(scope, receive)
        client = await authenticated(self.app, scope, given)
        grants, origin = self.app.accounts.grants, origin_of(scope)
        match required(given, "grant_type"):
            case "authorization_code":
                issued = await in_thread(grants.redeem, client, given, origin)
            case "refresh_token":
                issued = await in_thread(grants.refresh, client, given, origin)
            case _:
                raise OAuthRefused(
                    "unsupported_grant_type", "The grant types are authorization_code and refresh_token."
                )
        answer: JsonObject = {
            "access_token": issued.access_token,
            "token_type": "Bearer",
            "expires_in": issued.expires_in,
            "scope": " ".join(issued.grant.scopes),
        }
        return answered(answer if issued.refresh_token is None else {**answer, "refresh_token": issued.refresh_token})


class Revocation(ClientEndpoint):
    """Revoke the grant of a token (RFC 7009)."""

    rate = "300/minute"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        """Revoke it; the answer is the same if there is nothing to revoke."""
        given = await read_form(scope, receive)
        client = await authenticated(self.app, scope, given)
        await in_thread(self.app.accounts.grants.revoke, client, required(given, "token"), origin_of(scope))
        return Response(None, 200, UNCACHED)


async def authenticated(app: App, scope: Scope, given: Mapping[str, str]) -> OAuthClient:
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


BODY_LIMIT = 32 * 1024


class Registration(ClientEndpoint):
    """Register any program: people decide about its rights."""

    rate = "60/hour"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        body = await read_body(scope, receive, BODY_LIMIT)
        try:
            described = parse_object(body, Headers(scope=scope).get("content-type"))
        except ValidationFailed as error:
            raise OAuthRefused("invalid_client_metadata", error.message) from None
        client, secret = await in_thread(self.app.accounts.clients.register, described)
        issued_at = int(self.app.clock().timestamp())
        answer: JsonObject = {"client_id": client.id, "client_id_issued_at": issued_at, **client.metadata}
        if secret is not None:
            answer |= {"client_secret": secret, "client_secret_expires_at": 0}
        return answered(answer, 201)
