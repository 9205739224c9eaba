"""Request ids, access log, and the headers of every answer."""

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from auth.origin import REQUEST_ID
from auth.principal import Principal
from tools.runtime.version import VERSION

RawHeader = tuple[bytes, bytes]

NO_SNIFFING: RawHeader = (b"x-content-type-options", b"nosniff")
POLICY: RawHeader = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
NO_REFERRER: RawHeader = (b"referrer-policy", b"no-referrer")
HTTPS_ONLY: RawHeader = (b"strict-transport-security", b"max-age=31536000")


_ACCEPTED = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_OPENINGS = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Exchange:
    method: str
    route: str
    status: int
    seconds: float
    request_id: str
    user_id: str | None
    organization_id: str | None


Observe = Callable[[Exchange], None]


def request_id_of(offered: str | None) -> str:
    """Keep a well-formed id of the caller, else make one."""
    if offered is not None and _ACCEPTED.fullmatch(offered):
        return offered
    return f"req_{secrets.token_hex(6)}"


def log_exchange(exchange: Exchange) -> None:
    """Write the access log line, without bodies, tokens or query strings."""
    fields = asdict(exchange)
    log.info("request", logger="access", ms=round(fields.pop("seconds") * 1000, 2), **fields)


class RequestIds:
    """Middleware that adds `X-Request-ID`, `X-Engrain-Version` and browser rules, and reports the exchange."""

    def __init__(self, app: ASGIApp, *, observe: Observe = log_exchange, is_https: bool = False) -> None:
        self.app = app
        self.standing = [(b"x-engrain-version", VERSION.encode()), NO_SNIFFING, *([HTTPS_ONLY] if is_https else [])]
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request_id = request_id_of(Headers(scope=scope).get("x-request-id"))
        scope[REQUEST_ID] = request_id
        stamps = [(b"x-request-id", request_id.encode()), *self.standing]
        status = 0

        async def stamp(message: Message) -> None:
            nonlocal status
            if message["type"] in _OPENINGS:
                status = int(message.get("status", 101))
                given = list(message.get("headers", ()))
                names = {name.lower() for name, _ in given}
                defaults = [rule for rule in (POLICY, NO_REFERRER) if rule[0] not in names]
                message["headers"] = [*given, *stamps, *defaults]
            await send(message)

        started = time.perf_counter()
        # The id is bound for log lines only. Who calls is never read from a context variable: on one keep-alive
        # connection those survive into the next request.
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self.app(scope, receive, stamp)
            finally:
                self.observe(_exchange(scope, status, time.perf_counter() - started))


def _exchange(scope: Scope, status: int, seconds: float) -> Exchange:
    principal: Principal | None = scope.get("engrain.principal")
    return Exchange(
        method=scope.get("method", "WEBSOCKET"),
        route=getattr(scope.get("route"), "path", "unmatched"),
        status=status,
        seconds=seconds,
        request_id=scope[REQUEST_ID],
        user_id=principal.user_id if principal else None,
        organization_id=principal.organization_id if principal else None,
    )
