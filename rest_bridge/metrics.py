"""Request ids, access log, headers of every answer, and Prometheus metrics."""

import hmac
import re
import secrets
import time

import structlog
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from auth.external.addresses import is_this_machine
from auth.origin import REQUEST_ID, client_of
from rest_bridge.envelope import exchange_of, no_such_path
from rest_bridge.mcp_discovery import MCP_PATH
from tools.app import App
from tools.frame.threads import in_thread
from tools.runtime.health import readiness
from tools.runtime.version import VERSION

RawHeader = tuple[bytes, bytes]

NO_SNIFFING: RawHeader = (b"x-content-type-options", b"nosniff")
POLICY: RawHeader = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
NO_REFERRER: RawHeader = (b"referrer-policy", b"no-referrer")
HTTPS_ONLY: RawHeader = (b"strict-transport-security", b"max-age=31536000")
_ACCEPTED = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_OPENINGS = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})

log = structlog.get_logger()


def request_id_of(offered: str | None) -> str:
    """Keep a well-formed id of the caller, else make one."""
    if offered is not None and _ACCEPTED.fullmatch(offered):
        return offered
    return f"req_{secrets.token_hex(6)}"


class RequestIds:
    """Middleware that adds `X-Request-ID`, `X-Engrain-Version` and browser rules; logs and counts the exchange."""

    def __init__(self, app: ASGIApp, *, metrics: "Metrics | None" = None, is_https: bool = False) -> None:
        self.app = app
        self.standing = [(b"x-engrain-version", VERSION.encode()), NO_SNIFFING, *([HTTPS_ONLY] if is_https else [])]
        self.metrics = metrics

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
                self.report(scope, status, time.perf_counter() - started)

    def report(self, scope: Scope, status: int, seconds: float) -> None:
        """Write the access log line."""
        exchange = exchange_of(scope)
        log.info("request", logger="access", ms=round(seconds * 1000, 2), status=status, **exchange)
        if self.metrics is not None:
            self.metrics.observe(exchange["method"], exchange["route"], status, seconds)


_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "WEBSOCKET"})
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20)


class Metrics:
    """`/metrics` for the scraper, and 404 for everybody else. A process may have several."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "engrain_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "engrain_http_request_duration_seconds",
            "Time from the request to the end of its answer.",
            ("method", "route"),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self.pending = Gauge(
            "engrain_index_pending_changes", "Changes an index does not show yet.", ("index",), registry=self.registry
        )
        self.exposures = Gauge(
            "engrain_exposures",
            "Records of answers since the start: written to the file, or dropped because the queue was full.",
            ("outcome",),
            registry=self.registry,
        )
        info = Gauge("engrain_info", "Constant 1, with the version.", ("version",), registry=self.registry)
        info.labels(VERSION).set(1)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an exchange; time it unless it is a socket or event stream."""
        method = method if method in _METHODS else "other"
        self.requests.labels(method, route, status).inc()
        if method != "WEBSOCKET" and (method, route) != ("GET", MCP_PATH):
            self.seconds.labels(method, route).observe(seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.may_scrape(scope):
            raise no_such_path(scope)
        for index in (await in_thread(readiness, self.app)).indexes:
            self.pending.labels(index.name).set(index.pending)
        self.exposures.labels("written").set(self.app.exposures.written)
        self.exposures.labels("dropped").set(self.app.exposures.dropped)
        response = Response(generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
        await response(scope, receive, send)

    def may_scrape(self, scope: Scope) -> bool:
        """Accept the token; in development, also local callers."""
        settings, headers = self.app.settings, Headers(scope=scope)
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        offered = bearer.strip() if scheme.lower() == "bearer" else headers.get("x-engrain-metrics-token", "")
        expected = settings.metrics_scrape_token
        if expected and hmac.compare_digest(offered.encode(), expected.encode()):
            return True
        return settings.environment == "development" and is_this_machine(client_of(scope))
