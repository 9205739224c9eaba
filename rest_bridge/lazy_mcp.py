"""`/mcp`, imported after the start because the MCP library loads slowly."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

import anyio
from starlette.types import Receive, Scope, Send

from rest_bridge.authentication import Authenticate
from tools.app import App
from tools.frame.operation import Operation
from tools.runtime.threads import in_thread

if TYPE_CHECKING:
    from rest_bridge.mcp_mount import McpMount


HEAD_START_S = 0.25


class LazyMcp:
    """The ASGI endpoint at `/mcp`; requests wait until it is made."""

    def __init__(self, app: App, operations: Iterable[Operation], authenticate: Authenticate) -> None:
        self.app = app
        self.authenticate = authenticate
        self.operations = tuple(operations)
        self.asked = anyio.Event()
        self.made = anyio.Event()
        self.mount: McpMount | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Make the endpoint in the background; run its transports until the server ends."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.set()
        await self.made.wait()
        assert self.mount is not None  # noqa: S101 - set before the event
        await self.mount(scope, receive, send)

    async def _run(self) -> None:
        with anyio.move_on_after(HEAD_START_S):
            await self.asked.wait()
        self.app.preload.start()
        self.mount = await in_thread(self._make)
        async with self.mount.lifespan():
            self.made.set()
            await anyio.sleep_forever()

    def _make(self) -> "McpMount":
        from rest_bridge.mcp_mount import McpMount  # noqa: PLC0415 - late on purpose
        from tools.mcp_server import build_mcp_server  # noqa: PLC0415 - late on purpose

        server = build_mcp_server(self.app, self.operations)
        return McpMount(
            server, self.app.settings, authenticate=self.authenticate, local_principal=self.app.accounts.local_principal
        )
