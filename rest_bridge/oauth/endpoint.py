"""Base of the endpoints that clients post to, with OAuth errors."""

from typing import ClassVar

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from auth.grants_errors import ClientUnknown, OAuthRefused
from auth.origin import client_of
from rest_bridge.envelope import Misdirected, UnsupportedMediaType, status_of
from rest_bridge.hosts import require_own_host
from rest_bridge.rate_limits import FixedWindow
from rest_bridge.request_ids import REQUEST_ID
from stores.errors import EngrainError, InvalidRequest, PayloadTooLarge, RateLimited, ValidationFailed
from stores.records import JsonObject
from tools.app import App

UNCACHED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_MALFORMED = (InvalidRequest, ValidationFailed, UnsupportedMediaType, PayloadTooLarge, Misdirected)


class ClientEndpoint:
    """Endpoint for OAuth clients; refusals have the shape of RFC 6749, section 5.2."""

    rate: ClassVar[str]

    def __init__(self, app: App) -> None:
        self.app = app
        self.limit = FixedWindow.parse(self.rate) if app.settings.rate_limit_enabled else None

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
    """Refuse in the terms of OAuth, with the fields of every refusal."""
    body = {
        "error": _word(error),
        "error_description": error.message,
        "message": error.message,
        "request_id": scope.get(REQUEST_ID, ""),
        "remediation": error.remediation,
    }
    headers = dict(UNCACHED)
    status = status_of(error)
    if isinstance(error, ClientUnknown):
        status, headers["WWW-Authenticate"] = 401, 'Basic realm="Engrain", charset="UTF-8"'
    elif isinstance(error, ValidationFailed | UnsupportedMediaType):
        status = 400
    elif isinstance(error, RateLimited):
        headers["Retry-After"] = str(getattr(error, "retry_after_s", 1))
    return Response(to_json(body), status, headers, "application/json")


def _word(error: EngrainError) -> str:
    if isinstance(error, OAuthRefused):
        return error.code
    if isinstance(error, _MALFORMED):
        return "invalid_request"
    return "temporarily_unavailable" if status_of(error) in (429, 503) else "server_error"


def answered(body: JsonObject, status: int = 200) -> Response:
    return Response(to_json(body), status, UNCACHED, "application/json")
