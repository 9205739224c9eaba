"""Public address below a path, such as `https://host/engrain`."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

_PREFIX = "engrain.prefix"


def public_path(scope: Mapping[str, Any], path: str) -> str:
    """Return a path of this server as browsers see it."""
    return f"{scope.get(_PREFIX, '')}{path}"


class Prefix:
    """Middleware that removes the public address's path; in discovery documents it follows theirs (RFC 8414, 3.1)."""

    def __init__(self, app: ASGIApp, *, base_url: str | None) -> None:
        self.app = app
        self.prefix = urlsplit(base_url or "").path.rstrip("/")
        self.pattern = re.compile(rf"(/\.well-known/[^/]+)?{re.escape(unquote(self.prefix))}(?=/|$)")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.prefix and scope["type"] in ("http", "websocket"):
            scope[_PREFIX] = self.prefix
            if found := self.pattern.match(scope["path"]):
                scope["path"] = ((found[1] or "") + scope["path"][found.end() :]) or "/"
        await self.app(scope, receive, send)
