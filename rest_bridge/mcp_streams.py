"""Event streams that end when their credential is revoked."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rest_bridge.authentication import Authenticate
from stores.errors import AuthenticationRequired, Forbidden, Unavailable

RECHECK_S = 2.0
"""Interval of checking the credential."""

Holds = Callable[[], Awaitable[bool]]


def holding(authenticate: Authenticate, token: str) -> Holds:
    """Return a check that a token is valid; it counts as valid while the store is unavailable."""

    async def holds() -> bool:
        try:
            await authenticate(token)
        except (AuthenticationRequired, Forbidden):
            return False
        except Unavailable:
            return True
        return True

    return holds


class Revocable:
    """Serve a request while its credential is valid; then disconnect."""

    def __init__(self, app: ASGIApp, holds: Holds) -> None:
        self.app = app
        self.holds = holds
        self.over = anyio.Event()
        self.is_open = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watched(message: Message) -> None:
            self.is_open = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            try:
                await self.app(scope, lambda: self._heard(receive), watched)
            except Exception as error:  # noqa: BLE001 - raised again, outside of the group
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if self.is_open and self.over.is_set():
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self) -> None:
        while await self.holds():  # noqa: ASYNC110 - nobody tells
            await anyio.sleep(RECHECK_S)
        self.over.set()

    async def _heard(self, receive: Receive) -> Message:
        heard: Message = {"type": "http.disconnect"}

        async def hear() -> None:
            nonlocal heard
            heard = await receive()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hear)
            await self.over.wait()
            tasks.cancel_scope.cancel()
        return heard
