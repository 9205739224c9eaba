"""Error envelope for refusals of the MCP library outside JSON-RPC."""

from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from rest_bridge.envelope import refusal
from rest_bridge.hosts import misdirected
from stores.errors import EngrainError, Forbidden, InvalidRequest, MethodNotAllowed, PayloadTooLarge

_SHOWN = 100
"""Characters of a header's value that a message repeats."""


def enveloping(scope: Scope, receive: Receive, send: Send) -> Send:
    """Give refusals that are not JSON our envelope; keep status, headers and JSON-RPC errors."""
    replaced = False

    async def pass_on(message: Message) -> None:
        nonlocal replaced
        if message["type"] == "http.response.start" and message["status"] >= 400:
            headers = Headers(raw=message["headers"])
            replaced = not headers.get("content-type", "").startswith("application/json")
            if replaced:
                kept = {name: value for name, value in headers.items() if not name.startswith("content-")}
                response = refusal(_reason(scope, message["status"]), scope, kept)
                response.status_code = message["status"]
                await response(scope, receive, send)
        if not replaced:
            await send(message)

    return pass_on


def _reason(scope: Scope, status: int) -> EngrainError:
    return _REASONS[status](scope) if status in _REASONS else EngrainError("/mcp refused it.", code="api_error")


def _shown(scope: Scope, header: str) -> str:
    return repr(Headers(scope=scope).get(header, "")[:_SHOWN])


_REASONS: Mapping[int, Callable[[Scope], EngrainError]] = {
    400: lambda scope: InvalidRequest(
        f"The Content-Type is {_shown(scope, 'content-type')}, and /mcp takes JSON.",
        remediation="Send the JSON-RPC message with `Content-Type: application/json`.",
    ),
    403: lambda scope: Forbidden(
        f"Pages of {_shown(scope, 'origin')} may not use /mcp.",
        code="cross_origin_refused",
        remediation="Add the page's origin to ENGRAIN_CORS_ORIGINS.",
    ),
    405: lambda scope: MethodNotAllowed(f"{scope['method']} is not a method of /mcp in this revision of the protocol."),
    406: lambda scope: EngrainError(
        f"The Accept header is {_shown(scope, 'accept')}, and /mcp answers with JSON or a stream.",
        code="api_error",
        remediation="Send `Accept: application/json, text/event-stream`.",
    ),
    413: lambda scope: PayloadTooLarge("The message is larger than what /mcp takes."),
    421: misdirected,
}
