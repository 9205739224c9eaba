"""`/api/logs/stream`: log entries of an organization for its owners, as they are written."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from pydantic import ValidationError
from starlette.types import Scope
from starlette.websockets import WebSocket

from auth.policy import require_whole
from auth.principal import Principal
from rest_bridge.query_strings import Coercion, read_query
from rest_bridge.websocket import POLICY_VIOLATION, TRY_AGAIN_LATER, EventSocket, Listener, close
from stores.errors import EngrainError
from stores.records import JsonObject
from tools.frame.execute import require_rights
from tools.frame.parsing import refusal
from tools.runtime.events import Event, Subscription
from tools.runtime.logs import OPERATION, LogFilter

BUFFER = 256
"""Entries that wait for a client; one that falls further behind is cut off."""
LOG = "log"
_FILTER = Coercion(LogFilter.model_json_schema())


def offering(entries: MemoryObjectSendStream[JsonObject]) -> Callable[[JsonObject], None]:
    """Return a function that adds an entry from any thread, and closes the stream once it is full."""
    loop = asyncio.get_running_loop()

    def put(entry: JsonObject) -> None:
        try:
            entries.send_nowait(entry)
        except anyio.WouldBlock:
            entries.close()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return

    def offer(entry: JsonObject) -> None:
        with suppress(RuntimeError):  # The loop has ended; nobody listens any more.
            loop.call_soon_threadsafe(put, entry)

    return offer


class LogSocket(EventSocket):
    """One WebSocket per owner: log entries out, filtered by `?service=` and `?level=`."""

    names = (LOG,)

    def require_listener(self, scope: Scope) -> Principal:
        principal = super().require_listener(scope)
        require_reader(principal)
        return principal

    async def serve(self, socket: WebSocket, principal: Principal) -> None:
        given = _FILTER.fields(frozenset(LogFilter.model_fields), read_query(socket.scope), "query")
        try:
            wanted = LogFilter.model_validate(given)
        except ValidationError as error:
            raise refusal(error.errors(include_url=False), LogFilter, "query") from None
        entries, tail = anyio.create_memory_object_stream[JsonObject](BUFFER)
        with entries, tail, self.app.logs.telling(principal.organization_id, offering(entries)):
            async with self.app.events.subscribe(principal) as subscription:
                await LogListener(self, socket, subscription, tail, wanted).run()


class LogListener(Listener):
    """One open log socket; its subscription to events only reports changed rights."""

    def __init__(
        self, endpoint: LogSocket, socket: WebSocket, subscription: Subscription,
        tail: MemoryObjectReceiveStream[JsonObject], wanted: LogFilter,
    ) -> None:  # fmt: skip
        super().__init__(endpoint, socket, subscription)
        self.tail = tail
        self.wanted = wanted

    def parts(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        return *super().parts(), self.watch

    async def tell(self) -> None:
        async for entry in self.tail:
            if not await self.still_allowed():
                return
            if self.wanted.wants(entry) and self.is_wanted(LOG):
                await self.send_event(Event(LOG, entry, datetime.fromisoformat(str(entry["timestamp"]))))
        await close(self.socket, TRY_AGAIN_LATER, "You did not keep up: reconnect, and read what you missed.")

    async def watch(self) -> None:
        async for _ in self.subscription:
            if not await self.still_allowed():
                return
        await self.end()

    async def renewed(self) -> bool:
        return await super().renewed() and await self.still_allowed()

    async def still_allowed(self) -> bool:
        """Close the socket if the caller may no longer read the log."""
        try:
            require_reader(self.subscription.principal)
        except EngrainError as error:
            await close(self.socket, POLICY_VIOLATION, error.message)
            return False
        return True


def require_reader(principal: Principal) -> None:
    """Refuse callers who may not use the operation `logs`."""
    require_rights(OPERATION, principal)
    require_whole(principal, "The log")
