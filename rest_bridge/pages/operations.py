"""Operations of the catalogue for pages, with the rights and limits of REST."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from pydantic import JsonValue
from pydantic_core import to_json
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Scope

from rest_bridge.routes import Endpoint, PathEndpoint

_OF_THE_BODY = (b"content-type", b"content-length", b"transfer-encoding", b"idempotency-key")


class Operations:
    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self.endpoints: dict[str, Endpoint] = {}
        for route in routes:
            if isinstance(route, Route) and isinstance(route.endpoint, PathEndpoint):
                for endpoint in route.endpoint.endpoints.values():
                    self.endpoints[endpoint.operation.name] = endpoint

    async def answer(self, name: str, scope: Scope, fields: Mapping[str, JsonValue]) -> Response:
        """Return the answer of an operation's route."""
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
