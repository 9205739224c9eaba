"""Host names of this server, against DNS rebinding."""

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from rest_bridge.envelope import Misdirected
from tools.runtime.settings import Settings

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_PORT = re.compile(r"(:\d{1,5})?", re.ASCII)
_SHOWN = 100
"""Characters of a header's value that a message repeats."""


def own_hosts(settings: Settings) -> list[str] | None:
    """Return the host names, valid with any port; `None` if `*` accepts any."""
    if "*" in settings.allowed_hosts:
        return None
    public = urlsplit(settings.base_url).netloc if settings.base_url else None
    names = [*_LOOPBACK, *settings.allowed_hosts, *([public] if public else [])]
    if settings.host not in ("0.0.0.0", "::"):  # noqa: S104  (compared with, not listened on)
        names.append(f"[{settings.host}]" if ":" in settings.host else settings.host)
    return names


def require_own_host(scope: Scope, settings: Settings) -> None:
    """Refuse a request with a foreign Host header, against DNS rebinding."""
    names = own_hosts(settings)
    given = Headers(scope=scope).get("host", "")
    if names is not None and not any(
        given.startswith(name) and _PORT.fullmatch(given, len(name)) is not None for name in names
    ):
        raise misdirected(scope)


def misdirected(scope: Scope) -> Misdirected:
    shown = repr(Headers(scope=scope).get("host", "")[:_SHOWN])
    return Misdirected(f"The Host header is {shown}, which is no name of this server.")
