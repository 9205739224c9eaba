"""MCP over streamable HTTP at `/mcp`: rights, sessions, and calls without a session."""

import contextlib
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from auth.principal import SESSION_SCOPES, Principal
from rest_bridge.authentication import CREDENTIAL, PRINCIPAL, Authenticate, Credential
from rest_bridge.bodies import encode_readably, parse_leniently, read_body
from rest_bridge.envelope import refusal, require_own_host, require_own_origin, shown_header
from rest_bridge.mcp_discovery import challenge
from stores.errors import EngrainError, InvalidRequest, MethodNotAllowed, Unavailable, ValidationFailed
from tools.app import App
from tools.frame.operation import Operation
from tools.frame.parsing import refuse_unstorable
from tools.frame.threads import in_thread
from tools.mcp_server import UNREADABLE, build_mcp_server

BODY_LIMIT = 8 * 1024 * 1024
REMEMBERED_ENDS = 10_000
RECHECK_S = 2.0
NO_TOKEN = "Send an access token or an API key as a bearer token."  # noqa: S105 - a sentence about one

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
_SESSION_HEADER = "mcp-session-id"
_VERSION_HEADER = "mcp-protocol-version"


class McpMount:
    def __init__(self, app: App, operations: Iterable[Operation], authenticate: Authenticate) -> None:
        self.settings = app.settings
        self.accounts = app.accounts
        self.authenticate = authenticate
        server = build_mcp_server(app, operations)
        manager = partial(StreamableHTTPSessionManager, server, max_request_body_size=BODY_LIMIT)
        # The SDK's transports, chosen by the abilities of the sender.
        self.sessions = manager(stateless=False, json_response=False)
        self.streams = manager(stateless=True, json_response=False)
        self.plain = manager(stateless=True, json_response=True)
        self.ended: dict[str, None] = {}
        """Sessions that their clients ended: they answer 404, as the protocol wants it."""

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Run the transports; the lifespan of a mounted endpoint would never be called."""
        async with self.sessions.run(), self.streams.run(), self.plain.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        require_own_host(scope, self.settings)
        principal: Principal | None = scope.get(PRINCIPAL)
        credential: Credential | None = scope.get(CREDENTIAL)
        if credential is not None and credential.source == "cookie":
            # A page of another site can make a browser send the cookie, never the header.
            principal = credential = None
        if credential is None and self.settings.mcp_auth_mode == "off":
            principal = await in_thread(self.accounts.local_principal)
        if principal is None or "mcp" not in principal.scopes:
            await challenge(scope, self.settings, _reason(principal, credential))(scope, receive, send)
            return
        require_own_origin(scope, self.settings)
        # A credential whose only scope is `mcp` reads and writes.
        rights = principal.scopes & {"api:read", "api:write"}
        scope[PRINCIPAL] = replace(principal, scopes=principal.scopes | {"api:read"} if rights else SESSION_SCOPES)
        scope["user"] = session_owner(principal)
        send = enveloping(scope, receive, send)
        if scope["method"] == "GET" and credential is not None:
            await self.serve_while(credential.token, scope, receive, send)
        else:
            await self.serve(scope, receive, send)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve in the session; a POST without one, or whose session is lost, is served alone."""
        headers = Headers(scope=scope)
        version, session, method = headers.get(_VERSION_HEADER), headers.get(_SESSION_HEADER), scope["method"]
        body, replayed = b"", receive
        if method == "POST":
            scope, body = readable(_trimmed(scope), await read_body(scope, receive, BODY_LIMIT))
            replayed = _replaying(body, receive)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self.sessions.handle_request(scope, replayed, send)
            return
        if method == "POST" and session is None and not _opens_session(body):
            await self.serve_alone(scope, body, receive, send)
            return
        # Sessions are lost in a restart, and few clients open another: their calls go on, with their own rights.
        withheld = 404 if session is not None and session not in self.ended else None
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if status != withheld:
                await send(message)

        await self.sessions.handle_request(scope, replayed, answer)
        if status == withheld and method == "POST":
            await self.serve_alone(scope, body, receive, send)
        elif status == withheld:
            await refusal(_refused(scope, 405), scope, {"Allow": "POST"})(scope, receive, send)
        elif session is not None and method == "DELETE" and status == 200:
            self.ended[session] = None
            if len(self.ended) > REMEMBERED_ENDS:
                del self.ended[next(iter(self.ended))]

    async def serve_alone(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        manager = self.streams
        if "text/event-stream" not in Headers(scope=scope).get("accept", ""):
            manager = self.plain
            headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]
            scope = {**scope, "headers": [*headers, (b"accept", b"application/json")]}
        await manager.handle_request(scope, _replaying(body, receive), send)

    async def serve_while(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request while its credential is valid; then end the answer."""
        is_open = is_over = False
        failure: Exception | None = None

        async def watched(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        async def watch() -> None:
            nonlocal is_over
            while await self.holds(token):  # noqa: ASYNC110 - there is no event
                await anyio.sleep(RECHECK_S)
            is_over = True
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            try:
                await self.serve(scope, receive, watched)
            except Exception as error:  # noqa: BLE001 - raised again, outside of the group
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if is_open and is_over:
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def holds(self, token: str) -> bool:
        """Return whether a token is valid; it counts as valid while the store is unavailable."""
        try:
            with suppress(Unavailable):
                await self.authenticate(token)
        except EngrainError:
            return False
        return True


def _reason(principal: Principal | None, credential: Credential | None) -> str:
    if principal is not None:
        return f"insufficient_api_scope: /mcp needs the scope mcp, not {' '.join(sorted(principal.scopes))}."
    return credential.refusal.message if credential and credential.refusal else NO_TOKEN


def session_owner(principal: Principal) -> AuthenticatedUser:
    """Name the caller for the SDK, which answers 404 if another owner uses a session's id.

    Without the token, because a session outlives it. Rights come from the principal of each request, never from this.
    """
    program = principal.key_id or principal.grant_id
    owner = f"{principal.user_id}@{principal.organization_id}{'/' + program if program else ''}"
    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[], subject=principal.user_id))


def _trimmed(scope: Scope) -> Scope:
    # Blanks around the value of a header are not part of it (RFC 9110, section 5.5); the SDK compares them.
    headers = [(name, value.strip(b" \t") if name.startswith(b"mcp-") else value) for name, value in scope["headers"]]
    return {**scope, "headers": headers}


def readable(scope: Scope, body: bytes) -> tuple[Scope, bytes]:
    """Replace lone surrogates, which the SDK does not read; put the refusal that names them into the scope."""
    if not _SURROGATE.search(body) or not isinstance(message := parse_leniently(body), dict):
        return scope, body
    params = message.get("params")
    try:
        refuse_unstorable(params.get("arguments") if isinstance(params, dict) else None, "arguments")
    except ValidationFailed as error:
        scope = {**scope, UNREADABLE: error}
    return scope, encode_readably(message)


def _opens_session(body: bytes) -> bool:
    try:
        message = from_json(body)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("method") == "initialize"


def _replaying(body: bytes, receive: Receive) -> Receive:
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


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
                response = refusal(_refused(scope, message["status"]), scope, kept)
                response.status_code = message["status"]
                await response(scope, receive, send)
        if not replaced:
            await send(message)

    return pass_on


def _refused(scope: Scope, status: int) -> EngrainError:
    match status:
        case 400:
            return InvalidRequest(
                f"The Content-Type is {shown_header(scope, 'content-type')}, and /mcp takes JSON.",
                remediation="Send the JSON-RPC message with `Content-Type: application/json`.",
            )
        case 405:
            return MethodNotAllowed(f"{scope['method']} is not a method of /mcp in this revision of the protocol.")
        case 406:
            return EngrainError(
                f"The Accept header is {shown_header(scope, 'accept')}, and /mcp answers with JSON or a stream.",
                code="api_error",
                remediation="Send `Accept: application/json, text/event-stream`.",
            )
    return EngrainError("/mcp refused it.", code="api_error")
