"""`/api/logs/stream`: log entries of an organization for its owners, as they are written."""

import asyncio
from contextlib import suppress
from datetime import datetime

from pydantic import ValidationError
from starlette.types import Scope
from starlette.websockets import WebSocket

from auth.policy import require_whole
from auth.principal import Principal
from rest_bridge.query_strings import Coercion, read_query
from rest_bridge.websocket import POLICY_VIOLATION, EventSocket, Listener, close
from stores.errors import EngrainError
from stores.records import ORGANIZATION, JsonObject
from tools.frame.execute import require_rights
from tools.frame.parsing import refusal
from tools.runtime.events import Event
from tools.runtime.logs import OPERATION, LogFilter

LOG = "log"
_FILTER = Coercion(LogFilter)


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
        loop = asyncio.get_running_loop()
        async with self.app.events.subscribe(principal) as subscription:

            def offer(entry: JsonObject) -> None:
                if wanted.wants(entry):
                    event = Event(LOG, entry, datetime.fromisoformat(str(entry["timestamp"])))
                    with suppress(RuntimeError):  # The loop has ended; nobody listens any more.
                        loop.call_soon_threadsafe(subscription.offer, event, ORGANIZATION)

            with self.app.logs.telling(principal.organization_id, offer):
                await LogListener(self, socket, subscription).run()


class LogListener(Listener):
    """One open log socket; the events of its subscription only report changed rights."""

    async def tell(self) -> None:
        async for event in self.subscription:
            if not await self.still_allowed():
                return
            if event.name == LOG and self.is_wanted(LOG):
                await self.send(event.name, event.data, event.timestamp)
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
