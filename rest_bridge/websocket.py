"""`/api/ws`: events about the records that the caller may read; `/api/logs/stream`: log entries for owners."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import anyio
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from auth.policy import require_whole
from auth.principal import Principal
from rest_bridge.authentication import Authenticate, presented, require_principal
from rest_bridge.bodies import Coercion, read_query
from stores.errors import EngrainError, Forbidden, Unavailable
from stores.records import ORGANIZATION, JsonObject
from tools.app import App
from tools.catalogue import by_name
from tools.frame.execute import require_rights
from tools.frame.parsing import refusal
from tools.runtime.events import Event, Subscription
from tools.runtime.logs import LogFilter

EVENT_NAMES = (
    "entity_created", "entity_updated", "entity_deleted", "entity_pending", "note_created", "note_pending",
    "permission_changed", "source_import_updated", "raw_capture_changed", "crawl_started", "crawl_progress",
    "crawl_complete", "crawl_sync_complete", "search_complete", "graph_updated", "health_update", "backup_started",
    "backup_complete", "backup_failed", "question_answered", "job_queued", "job_started", "job_completed",
    "job_failed", "job_cancelled",
)  # fmt: skip
"""Topics of the interface. Some never occur; subscribing to them is not an error."""
POLICY_VIOLATION = 1008
TRY_AGAIN_LATER = 1013
_REASON_BYTES = 120
"""A close frame holds 123."""


class EventSocket:
    names: tuple[str, ...] = EVENT_NAMES

    def __init__(
        self, app: App, authenticate: Authenticate, *, heartbeat_s: float = 30.0, pong_timeout_s: float = 10.0
    ) -> None:
        self.app = app
        self.authenticate = authenticate
        self.heartbeat_s = heartbeat_s
        self.pong_timeout_s = pong_timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        try:
            principal = require_principal(scope, self.app.settings.cors_origins)
            self.require_rights(principal)
            await self.serve(socket, principal)
        except EngrainError as error:
            await close(socket, POLICY_VIOLATION, error.message)

    async def serve(self, socket: WebSocket, principal: Principal) -> None:
        async with self.app.events.subscribe(principal) as subscription:
            await Listener(self, socket, subscription).run()

    def require_rights(self, principal: Principal) -> None:
        if not principal.scopes & {"api:read", "api:write"}:
            raise Forbidden("insufficient_api_scope: the socket needs the scope api:read.")


class Listener:
    def __init__(self, endpoint: EventSocket, socket: WebSocket, subscription: Subscription) -> None:
        self.endpoint = endpoint
        self.socket = socket
        self.subscription = subscription
        self.topics: frozenset[str] = frozenset()
        self.alive = anyio.Event()
        self.sending = anyio.Lock()

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            for serve in (self.hear, self.tell, self.beat):
                tasks.start_soon(self._until_over, serve, tasks.cancel_scope)

    async def _until_over(self, serve: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        try:
            # A send on a socket that the peer has left raises either of these, by who noticed first.
            with suppress(WebSocketDisconnect, RuntimeError):
                await serve()
        except EngrainError as error:
            await close(self.socket, POLICY_VIOLATION, error.message)
        scope.cancel()

    async def hear(self) -> None:
        """Answer messages of the client; any message is a sign of life."""
        while True:
            try:
                message = await self.socket.receive_json()
            except (ValueError, KeyError, RecursionError):
                message = None
            self.alive.set()
            if reply := self.reply_to(message):
                await self.send(*reply)

    def reply_to(self, message: object) -> tuple[str, Mapping[str, Any]] | None:
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "ping":
            return "pong", {}
        if kind in ("pong", "heartbeat_ack"):
            return None
        topics = message.get("topics", []) if isinstance(message, dict) else None
        if kind == "subscribe" and isinstance(topics, list):
            known = [topic for topic in self.endpoint.names if topic in topics]
            self.topics = frozenset(known)
            return "subscribed", {"topics": known}
        return "error", {"message": "Send a JSON object whose type is ping, pong, heartbeat_ack or subscribe."}

    async def tell(self) -> None:
        """Send the events of the topics to which the client subscribed; no topic means all."""
        async for event in self.subscription:
            self.endpoint.require_rights(self.subscription.principal)
            if event.name in (self.topics or self.endpoint.names):
                await self.send(event.name, event.data, event.timestamp)
        if self.subscription.signed_out:
            await close(self.socket, POLICY_VIOLATION, "The session has ended: log in again.")
        else:
            await close(self.socket, TRY_AGAIN_LATER, "You did not keep up: reconnect, and read what you missed.")

    async def beat(self) -> None:
        while True:
            await anyio.sleep(self.endpoint.heartbeat_s)
            await self.renew()
            self.alive = anyio.Event()
            with anyio.move_on_after(self.endpoint.pong_timeout_s) as waiting:
                await self.send("heartbeat", {"server_time": self.endpoint.app.clock().isoformat()})
                await self.alive.wait()
            if waiting.cancelled_caught:
                await close(self.socket, POLICY_VIOLATION, "No pong came in time.")
                return

    async def renew(self) -> None:
        """Authenticate again, so that revoked sessions are closed and changed rights take effect."""
        if (found := presented(Headers(scope=self.socket.scope))) is not None:
            with suppress(Unavailable):  # The next heartbeat tries again.
                self.subscription.principal = await self.endpoint.authenticate(found[1])
        self.endpoint.require_rights(self.subscription.principal)

    async def send(self, name: str, data: Mapping[str, Any], at: datetime | None = None) -> None:
        shown = {"event": name, "data": data, "timestamp": (at or self.endpoint.app.clock()).isoformat()}
        async with self.sending:
            await self.socket.send_text(to_json(shown).decode())


async def close(socket: WebSocket, code: int, reason: str) -> None:
    """Close a socket with a cut reason, unless the peer is gone."""
    text = reason.encode()[:_REASON_BYTES].decode(errors="ignore")
    # A peer that reads nothing cannot be told: the server's own time-out ends it.
    with suppress(RuntimeError, WebSocketDisconnect), anyio.move_on_after(1):
        await socket.close(code, text)


LOG = "log"
_FILTER = Coercion(LogFilter)


class LogSocket(EventSocket):
    """One WebSocket per owner: log entries out, filtered by `?service=` and `?level=`."""

    names = (LOG,)

    def require_rights(self, principal: Principal) -> None:
        """Refuse callers who may not use the operation `logs`."""
        super().require_rights(principal)
        require_rights(by_name["logs"], principal)
        require_whole(principal, "The log")

    async def serve(self, socket: WebSocket, principal: Principal) -> None:
        given = _FILTER.fields(frozenset(LogFilter.model_fields), read_query(socket.scope), "query")
        try:
            wanted = LogFilter.model_validate(given)
        except ValidationError as error:
            raise refusal(error.errors(include_url=False), LogFilter, "query") from None
        loop = asyncio.get_running_loop()
        async with self.app.events.subscribe(principal) as subscription:

            def offer(entry: JsonObject) -> None:
                if wanted.wants(entry):
                    event = Event(LOG, entry, datetime.fromisoformat(str(entry["timestamp"])))
                    with suppress(RuntimeError):  # The loop has ended.
                        loop.call_soon_threadsafe(subscription.offer, event, ORGANIZATION)

            with self.app.logs.telling(principal.organization_id, offer):
                await Listener(self, socket, subscription).run()
