"""uvicorn on a socket, with limits on the head of a request and a graceful shutdown."""

import asyncio
import contextlib
import ctypes
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path

import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn.loops.auto import auto_loop_factory
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from auth.origin import REQUEST_ID
from rest_bridge.application import build_asgi
from rest_bridge.envelope import HeadTooLarge, refusal
from rest_bridge.metrics import NO_SNIFFING, POLICY, request_id_of
from stores.errors import EngrainError, InvalidRequest, InvalidSetting, Unavailable
from stores.folder import STAY
from tools.app import open_app
from tools.frame.threads import in_thread
from tools.jobs.runner import jobs_running
from tools.people.api_keys import keep_local_key
from tools.runtime.health import OPEN_MCP
from tools.runtime.log_ring import LogRing, configure_logs
from tools.runtime.settings import Settings
from tools.runtime.version import VERSION

HEAD_LIMIT = 64 * 1024
"""Bytes of a request line and its headers together."""
HEAD_TIMEOUT_S = 20.0
"""Seconds in which a head has to arrive: connections that never finish one would stay for ever."""
_HANDSHAKE = "Open a WebSocket with GET, and with at most 128 headers of 8 KiB each."


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits on size and time of the head."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._in_head, self._head_bytes = True, 0
        self._deadline: asyncio.TimerHandle | None = None
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self._in_head and not self.transport.is_closing():
            self._refuse(InvalidRequest("The head of the request did not arrive in time."))

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._expect_head()
            end = data.find(b"\r\n\r\n")
            if self._head_bytes + (len(data) if end < 0 else end) > HEAD_LIMIT:
                # Before it is read: the parser would call a long path malformed.
                self._refuse(HeadTooLarge(f"The request line and the headers exceed {HEAD_LIMIT // 1024} KiB."))
                return
            self._head_bytes += len(data)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._in_head, self._head_bytes = False, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True

    def handle_websocket_upgrade(self) -> None:
        """Refuse a malformed head, for which uvicorn would wait forever."""
        super().handle_websocket_upgrade()
        taken_over = self.transport.get_protocol()
        if isinstance(taken_over, WebSocketsSansIOProtocol) and not taken_over.handshake_initiated:
            self._refuse(InvalidRequest("The handshake cannot be read.", remediation=_HANDSHAKE))

    def send_400_response(self, msg: str) -> None:
        self._refuse(InvalidRequest(msg, remediation="Send a well-formed HTTP/1.1 request."))

    def _refuse(self, error: EngrainError) -> None:
        self.transport.write(written(error))
        self.transport.close()


class BoundedSocket(WebSocketsSansIOProtocol):
    """WebSocket whose failed handshakes are refused in the envelope of all refusals."""

    def handle_connect(self, event: Request) -> None:
        answer = self.conn.accept(event)
        if answer.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            why = (answer.body or b"").decode(errors="replace").strip() or "The handshake does not hold."
            self._refuse(InvalidRequest(why, remediation=_HANDSHAKE))
            return
        super().handle_connect(event)

    def send_500_response(self) -> None:
        if self.initial_response is None and not self.handshake_complete:
            self._refuse(Unavailable("The socket was not opened.", remediation="Try again in a moment."))

    def _refuse(self, error: EngrainError) -> None:
        self.handshake_initiated = self.handshake_complete = self.close_sent = True
        self.transport.write(written(error))
        self.transport.close()


def written(error: EngrainError) -> bytes:
    request_id = request_id_of(None)
    response = refusal(
        error,
        {REQUEST_ID: request_id},
        {"x-request-id": request_id, "x-engrain-version": VERSION, "connection": "close"},
    )
    status = HTTPStatus(response.status_code)
    lines = [b"HTTP/1.1 %d %b" % (status, status.phrase.encode())]
    lines += [b"%b: %b" % header for header in [*response.raw_headers, NO_SNIFFING, POLICY]]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


GRACE_S = 6
"""Seconds that open requests have to finish; with the closing of the stores it stays within 10."""
LAST_WORDS_S = 0.5
"""Seconds for those that were not finished by then to answer 503."""
SOCKET_MESSAGE_LIMIT = 64 * 1024
SWITCH_INTERVAL_S = 0.001
ARENAS = 2
_M_ARENA_MAX = -8
"""The number of this option in glibc's malloc.h."""

log = structlog.get_logger()

Listening = Callable[[str], None]


def serve(settings: Settings, on_listening: Listening | None = None) -> None:
    with contextlib.suppress(AttributeError, OSError):  # Freed memory returns to the OS; not every libc has this.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)
    listener = bind(settings.host, settings.port)
    # 0 was a wish: invitations say under which port they are accepted.
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    with listener, asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(settings, listener, on_listening))


async def _serve(settings: Settings, listener: socket.socket, on_listening: Listening | None) -> None:
    # A request waits at most this long for the interpreter while an import is analysed beside it; the default is 5 ms.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    ring = LogRing()
    configure_logs(settings.log_level, settings.log_format, ring)
    if settings.mcp_auth_mode == "off":
        log.warning("mcp_without_authentication", logger="server", warning=OPEN_MCP)
    async with open_app(settings, logs=ring) as app, jobs_running(app):

        def announce() -> None:
            # Local clients find the server through the folder's lock.
            app.folder.announce(address_of(listener))
            if on_listening is not None:
                on_listening(address_of(listener))

        if settings.local_owner:
            await in_thread(keep_local_key, app)
        server = Server(configuration(build_asgi(app), settings.trusted_proxies), announce, app.indexer.end_waits)
        server.idle_exit_s, server.stay_file = settings.idle_exit_s, settings.data_dir / STAY
        await server.serve(sockets=[listener])


class Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, on_started: Callable[[], object], on_stopping: Callable[[], object] = lambda: None
    ) -> None:
        super().__init__(config)
        self.on_started = on_started
        self.on_stopping = on_stopping
        self.idle_exit_s, self.stay_file = 0, Path(STAY)
        self.requests, self.last_used = 0, time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        """End a server that was idle for `idle_exit_s`, unless `engrain up` keeps it."""
        if self.server_state.connections or self.requests != self.server_state.total_requests:
            self.requests, self.last_used = self.server_state.total_requests, time.monotonic()
        is_idle = self.idle_exit_s and time.monotonic() - self.last_used > self.idle_exit_s
        return await super().on_tick(counter) or bool(is_idle and not self.stay_file.exists())

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and let open requests finish; late ones answer 503."""
        self.on_stopping()
        await super().shutdown(sockets)
        if late := set(self.server_state.tasks):
            await asyncio.wait(late, timeout=LAST_WORDS_S)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, without raising the signal again before the stores are closed."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {which: signal.signal(which, self.handle_exit) for which in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for which, handler in before.items():
                signal.signal(which, handler)


def configuration(application: ASGIApp, trusted_proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Configure uvicorn; only trusted proxies may forward addresses.

    `reset_contextvars` keeps context variables from leaking between requests of one connection.
    """
    return uvicorn.Config(
        application,
        lifespan="on",
        http=BoundedProtocol,
        ws=BoundedSocket,
        ws_max_size=SOCKET_MESSAGE_LIMIT,
        reset_contextvars=True,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=GRACE_S,
    )


def bind(host: str, port: int) -> socket.socket:
    """Bind first, so that a second server fails at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY on such sockets only: without it, answers wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise InvalidSetting(
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            remediation="Stop the program that holds it, or choose another address with ENGRAIN_HOST and ENGRAIN_PORT.",
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the URL of a bound socket for clients on this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared with, not listened on
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
