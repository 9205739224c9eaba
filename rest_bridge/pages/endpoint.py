"""Base class of pages."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from pydantic import JsonValue
from pydantic_core import to_json
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from rest_bridge.cookies import require_same_origin
from rest_bridge.pages.layout import error_page
from rest_bridge.routes import Endpoint, PathEndpoint
from stores.errors import EngrainError
from tools.app import App

_OF_THE_BODY = (b"content-type", b"content-length", b"transfer-encoding", b"idempotency-key")


class Operations:
    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        for route in routes:
            if isinstance(route, Route) and isinstance(route.endpoint, PathEndpoint):
                for endpoint in route.endpoint.endpoints.values():
                    self.endpoints[endpoint.operation.name] = endpoint

    async def answer(self, name: str, scope: Scope, fields: Mapping[str, JsonValue]) -> Response:
        endpoint = self.endpoints[name]
        path = {field: fields[field] for field in endpoint.placement.path}
        query = {field: fields[field] for field in endpoint.placement.query & fields.keys()}
        body = to_json({field: value for field, value in fields.items() if field not in path | query})
        kept = [(header, value) for header, value in scope["headers"] if header not in _OF_THE_BODY]
        inner = {
            **scope,
            "method": endpoint.route.method,
            "path": endpoint.route.path,
            "path_params": path,
            "query_string": urlencode(query).encode(),
            "headers": [*kept, (b"content-type", b"application/json")],
        }

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return await endpoint.answer(inner, receive)


def cookies_of(response: Response) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in response.raw_headers if name == b"set-cookie"]


class Page:
    methods: tuple[str, ...] = ("GET", "POST")

    def __init__(self, app: App, operations: Operations) -> None:
        self.app = app
        self.operations = operations

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
