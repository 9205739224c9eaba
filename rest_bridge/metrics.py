"""Prometheus metrics: requests by route template, and pending changes of the indexes."""

import hmac

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from auth.external.addresses import is_this_machine
from rest_bridge.envelope import no_such_path
from rest_bridge.mcp_discovery import MCP_PATH
from rest_bridge.request_ids import Exchange, log_exchange
from tools.app import App
from tools.runtime.health import readiness
from tools.runtime.threads import in_thread
from tools.runtime.version import VERSION

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

    def observe(self, exchange: Exchange) -> None:
        """Log and count an exchange; time it unless it is a socket or event stream."""
        log_exchange(exchange)
        method = exchange.method if exchange.method in _METHODS else "other"
        self.requests.labels(method, exchange.route, exchange.status).inc()
        if method != "WEBSOCKET" and (method, exchange.route) != ("GET", MCP_PATH):
            self.seconds.labels(method, exchange.route).observe(exchange.seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.may_scrape(scope):
            raise no_such_path(scope)
        report = await in_thread(readiness, self.app)
        for index in report["indexes"]:
            self.pending.labels(index["name"]).set(index["pending"])
        self.exposures.labels("written").set(self.app.exposures.written)
        self.exposures.labels("dropped").set(self.app.exposures.dropped)
        response = Response(generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
        await response(scope, receive, send)

    def may_scrape(self, scope: Scope) -> bool:
        """Accept the token; in development, also local callers."""
        settings = self.app.settings
        if settings.metrics_scrape_token and _token_matches(Headers(scope=scope), settings.metrics_scrape_token):
            return True
        return settings.environment == "development" and is_this_machine((scope.get("client") or ("",))[0])


def _token_matches(headers: Headers, expected: str) -> bool:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    offered = bearer.strip() if scheme.lower() == "bearer" else headers.get("x-engrain-metrics-token", "")
    return hmac.compare_digest(offered.encode(), expected.encode())
