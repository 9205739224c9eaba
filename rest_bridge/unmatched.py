"""Unmatched paths: a redirect if only a slash is wrong, else 404."""

from collections.abc import Sequence
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketClose

from rest_bridge.envelope import no_such_path, refusal

_DENIAL = "websocket.http.response"


class Unmatched:
    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self.routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            denies = _DENIAL in scope.get("extensions", {})
            answer = refusal(no_such_path({**scope, "method": "GET"}), scope) if denies else WebSocketClose()
            await answer(scope, receive, send)
            return
        meant = self.meant(scope)
        if meant is None:
            raise HTTPException(404)
        # Without the host: what a client sends as its name is not to be believed.
        query = scope["query_string"].decode("ascii", "replace")
        location = quote(meant) + (f"?{query}" if query else "")
        await Response(None, 307, {"Location": location})(scope, receive, send)

    def meant(self, scope: Scope) -> str | None:
        path: str = scope["path"]
        other = path.rstrip("/") if path.endswith("/") else f"{path}/"
        # Two slashes at the beginning would name another host.
        if not other or other.startswith("//"):
            return None
        at_other = {**scope, "path": other}
        found = any(route.matches(at_other)[0] is not Match.NONE for route in self.routes)
        return other if found else None
