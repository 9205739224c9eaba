"""uvicorn's HTTP/1.1 protocol with limits on the head, and errors in our envelope."""

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from rest_bridge.browser_rules import NO_SNIFFING, POLICY
from rest_bridge.envelope import HeadTooLarge, refusal
from rest_bridge.request_ids import REQUEST_ID, request_id_of
from stores.errors import EngrainError, InvalidRequest, Unavailable
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
    """Serialize a refusal that ends the connection."""
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
