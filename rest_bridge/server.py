"""uvicorn on a socket, with graceful shutdown."""

import asyncio
import contextlib
import ctypes
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence

import structlog
import uvicorn
from starlette.types import ASGIApp

from rest_bridge.application import build_asgi
from rest_bridge.protocol import BoundedProtocol, BoundedSocket
from stores.errors import InvalidSetting
from tools.app import open_app
from tools.runtime.health import OPEN_MCP
from tools.runtime.log_ring import LogRing, configure_logs
from tools.runtime.settings import Settings

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
    limit_arenas()
    listener = bind(settings.host, settings.port)
    # 0 was a wish: invitations say under which port they are accepted.
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    with listener, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listener, on_listening))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return None
    return uvloop.new_event_loop


def limit_arenas() -> None:
    """Limit glibc's malloc arenas, so that freed memory returns to the OS."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


async def _serve(settings: Settings, listener: socket.socket, on_listening: Listening | None) -> None:
    # A request waits at most this long for the interpreter while an import is analysed beside it; the default is 5 ms.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    ring = LogRing()
    configure_logs(settings.log_level, settings.log_format, ring)
    if settings.mcp_auth_mode == "off":
        log.warning("mcp_without_authentication", logger="server", warning=OPEN_MCP)
    async with open_app(settings, logs=ring) as app:

        def announce() -> None:
            # Local clients find the server through the folder's lock.
            app.folder.announce(address_of(listener))
            if on_listening is not None:
                on_listening(address_of(listener))

        server = Server(configuration(build_asgi(app), settings.trusted_proxies), announce, app.indexer.end_waits)
        await server.serve(sockets=[listener])


class Server(uvicorn.Server):
    """uvicorn with callbacks at start and stop."""

    def __init__(
        self, config: uvicorn.Config, on_started: Callable[[], object], on_stopping: Callable[[], object] = lambda: None
    ) -> None:
        super().__init__(config)
        self.on_started = on_started
        self.on_stopping = on_stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then call `on_started`."""
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
            remediation="Stop what listens there, or choose another address with ENGRAIN_HOST and ENGRAIN_PORT.",
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the URL of a bound socket for clients on this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared with, not listened on
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
