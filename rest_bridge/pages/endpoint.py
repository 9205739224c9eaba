"""Base class of pages."""

from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rest_bridge.authentication import require_same_origin
from rest_bridge.pages.layout import error_page
from rest_bridge.routes import Endpoint
from stores.errors import EngrainError
from tools.app import App


class Page:
    def __init__(self, app: App, endpoints: Mapping[str, Endpoint]) -> None:
        self.app = app
        self.endpoints = endpoints
        """Endpoints by the names of their operations."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self.answer(scope, receive)
        except EngrainError as error:
            response = error_page(error, scope)
        await response(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            return await self.show(scope)
        require_same_origin(scope, ())
        return await self.submit(scope, receive)

    async def show(self, scope: Scope) -> Response:
        raise NotImplementedError

    async def submit(self, scope: Scope, receive: Receive) -> Response:
        """Answer POST from this server's own page, or from no browser."""
        raise NotImplementedError
