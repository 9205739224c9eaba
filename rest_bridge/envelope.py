"""Error envelope: HTTP statuses of our errors, and the answer; host names of this server."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import structlog
from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rest_bridge.authentication import clear_session
from stores.errors import (
    AuthenticationRequired,
    BadGateway,
    Conflict,
    EngrainError,
    Forbidden,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    RateLimited,
    Unavailable,
    ValidationFailed,
)
from tools.runtime.settings import Settings

log = structlog.get_logger()

_RETRY = "Send it again in a moment; a write with the same Idempotency-Key is not done twice."
REFUSE = "engrain.refuse"
"""Scope key: makes the answer to an error, where that is not the envelope."""
CLEAR_COOKIES = "engrain.clear_cookies"
"""Scope key: a 401 answer clears the session cookies, because they failed."""


class UnsupportedMediaType(EngrainError):
    """415: the body is not JSON."""

    code = "unsupported_media_type"
    default_remediation = "Send the body as JSON with `Content-Type: application/json`."


class HeadTooLarge(EngrainError):
    """431: the request line and the headers are too long together."""

    code = "headers_too_large"
    default_remediation = "Send fewer or shorter headers; long text belongs in the body."


class Misdirected(EngrainError):
    """421: the request is for a host that this server is not."""

    code = "api_error"
    default_remediation = "Add the name to ENGRAIN_ALLOWED_HOSTS, or set ENGRAIN_BASE_URL to the public address."


STATUSES: Mapping[type[EngrainError], int] = {
    InvalidRequest: 400,
    AuthenticationRequired: 401,
    Forbidden: 403,
    NotFound: 404,
    MethodNotAllowed: 405,
    Conflict: 409,
    PayloadTooLarge: 413,
    UnsupportedMediaType: 415,
    Misdirected: 421,
    ValidationFailed: 422,
    RateLimited: 429,
    HeadTooLarge: 431,
    BadGateway: 502,
    Unavailable: 503,
    EngrainError: 500,
}


def status_of(error: EngrainError) -> int:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def refusal(
    error: EngrainError, scope: Mapping[str, Any], headers: Mapping[str, str] | None = None, *, oauth: str = ""
) -> Response:
    """Answer with an error. `oauth` is its code for OAuth clients (RFC 6749, section 5.2), who get no details."""
    status = status_of(error)
    body: dict[str, Any] = {
        "error": oauth or error.code,
        "message": error.message,
        "request_id": scope.get("engrain.request_id", ""),
        "remediation": error.remediation,
    }
    if oauth:
        body["error_description"] = error.message
    elif error.details:
        body["details"] = error.details
    response = Response(to_json(body), status, {**headers_of(error), **(headers or {})}, "application/json")
    if status == 401 and scope.get(CLEAR_COOKIES):
        clear_session(response)
    return response


def headers_of(error: EngrainError) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, AuthenticationRequired):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, RateLimited):
        headers["Retry-After"] = str(error.retry_after_s)
    return headers


async def answer_http(request: Request, error: Exception) -> Response:
    """Answer the refusals of the router: unknown path, wrong method."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        ours: EngrainError = MethodNotAllowed(f"{request.method} is not a method of {request.scope['path']}.")
        return refusal(ours, request.scope, {"Allow": allowed})
    if error.status_code == 404:
        return refusal(no_such_path(request.scope), request.scope)
    ours = EngrainError(error.detail, code="api_error", remediation="See /api/docs for the fields of this endpoint.")
    response = refusal(ours, request.scope, error.headers)
    response.status_code = error.status_code
    return response


def no_such_path(scope: Scope) -> NotFound:
    return NotFound(
        f"There is no endpoint {scope['method']} {scope['path']}.",
        remediation="See /api/docs for the endpoints, and check the path for a typing error or a trailing slash.",
    )


class Faults:
    """Middleware that answers refusals, and 500 for unexpected exceptions, which it logs."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def watch(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except asyncio.CancelledError:
            if begun:
                raise
            stopping = Unavailable("The server is stopping; it had no time left for this request.", remediation=_RETRY)
            await refusal(stopping, scope)(scope, receive, send)
        except ClientDisconnect:
            log.debug("client_gone", logger="http")
        except EngrainError as error:
            if begun:
                raise
            await _answer(error, scope)(scope, receive, send)
        except Exception:
            log.exception("internal_error", logger="http", **exchange_of(scope))
            if begun:
                raise
            fault = EngrainError("Something went wrong on our side.")
            await refusal(fault, scope)(scope, receive, send)


def _answer(error: EngrainError, scope: Scope) -> Response:
    if status_of(error) >= 500:
        log.warning("unavailable", logger="http", code=error.code, message=error.message)
    response: Response = scope.get(REFUSE, refusal)(error, scope)
    return response


def exchange_of(scope: Scope) -> dict[str, Any]:
    """Describe an exchange for the log, without bodies, tokens or query strings."""
    principal = scope.get("engrain.principal")
    return {
        "method": scope.get("method", "WEBSOCKET"),
        "route": getattr(scope.get("route"), "path", "unmatched"),
        "request_id": scope.get("engrain.request_id"),
        "user_id": principal.user_id if principal else None,
        "organization_id": principal.organization_id if principal else None,
    }


_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_PORT = re.compile(r"(:\d{1,5})?", re.ASCII)
_SHOWN = 100
"""Characters of a header's value that a message repeats."""


def is_own_host(given: str, settings: Settings) -> bool:
    """Return True for the names of this server, with any port; `*` in ENGRAIN_ALLOWED_HOSTS accepts any."""
    public = urlsplit(settings.base_url).netloc if settings.base_url else None
    names = [*_LOOPBACK, *settings.allowed_hosts, *([public] if public else [])]
    if settings.host not in ("0.0.0.0", "::"):  # noqa: S104  (compared with, not listened on)
        names.append(f"[{settings.host}]" if ":" in settings.host else settings.host)
    return "*" in names or any(given.startswith(name) and _PORT.fullmatch(given, len(name)) for name in names)


def require_own_host(scope: Scope, settings: Settings) -> None:
    """Refuse a request with a foreign Host header, against DNS rebinding."""
    if not is_own_host(Headers(scope=scope).get("host", ""), settings):
        raise Misdirected(f"The Host header is {shown_header(scope, 'host')}, which is no name of this server.")


def require_own_origin(scope: Scope, settings: Settings) -> None:
    """Refuse a request of a page that is neither this server's nor in ENGRAIN_CORS_ORIGINS."""
    origin = Headers(scope=scope).get("origin", "")
    scheme, _, host = origin.partition("://")
    is_ours = "*" in settings.allowed_hosts or (scheme in ("http", "https") and is_own_host(host, settings))
    if origin and origin not in settings.cors_origins and not is_ours:
        raise Forbidden(
            f"Pages of {shown_header(scope, 'origin')} may not use {scope['path']}.",
            code="cross_origin_refused",
            remediation="Add the page's origin to ENGRAIN_CORS_ORIGINS.",
        )


def shown_header(scope: Scope, name: str) -> str:
    return repr(Headers(scope=scope).get(name, "")[:_SHOWN])
