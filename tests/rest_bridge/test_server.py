"""What only a socket shows: connections that are shared, limits on the wire, and the end of a server."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream
from websockets.sync.client import connect

from rest_bridge.server import address_of, bind
from stores.errors import InvalidSetting, Unavailable
from tests.rest_bridge.harness import Person, serving
from tests.rest_bridge.notes import Notes
from tests.rest_bridge.test_mcp_mount import INITIALIZE
from tools.app import App
from tools.runtime.launch import ServerProcess, server_process

pytestmark = pytest.mark.anyio

SOON = 15
ACCOUNT = {"email": "ada@example.org", "password": "long enough", "name": "Ada"}


class Wire:
    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self.buffer = b""

    async def _until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            self.buffer += await self.stream.receive()
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        with anyio.fail_after(SOON):
            head = (await self._until(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = b""
            if headers.get("transfer-encoding") == "chunked":
                while size := int(await self._until(b"\r\n"), 16):
                    body += await self._exactly(size + 2)
                await self._exactly(2)
            else:
                body = await self._exactly(int(headers.get("content-length", 0)))
        return int(first.split()[1]), headers, body

    async def _exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            self.buffer += await self.stream.receive()
        found, self.buffer = self.buffer[:size], self.buffer[size:]
        return found


def request(path: str, body: bytes, token: str | None = None) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json",
        "Accept: application/json, text/event-stream", f"Content-Length: {len(body)}",
    ]  # fmt: skip
    lines += [f"Authorization: Bearer {token}"] if token else []
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


BIG = 200 * 1024
NOTE = json.dumps({"text": "x", "metadata": {"padding": "p" * BIG}}).encode()
CALL = json.dumps(
    {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "create_note", "arguments": {"text": "x", "metadata": {"padding": "p" * BIG}}},
    }
).encode()  # fmt: skip


@pytest.mark.parametrize("pipelined", [True, False], ids=["pipelined", "kept alive"])
@pytest.mark.parametrize("big", [("/api/notes", NOTE, 201), ("/mcp", CALL, 200)], ids=["REST", "MCP"])
async def test_the_identity_of_one_request_is_not_that_of_the_next_on_its_connection(
    app: App, ada: Person, notes: Notes, big: tuple[str, bytes, int], pipelined: bool
) -> None:
    path, body, status = big
    anonymous = request(path, b'{"text": "anonymous"}')
    async with serving(app, notes.operations()) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        wire = Wire(stream)
        await stream.send(request(path, body, ada.token) + (anonymous * 3 if pipelined else b""))
        assert (await wire.response())[0] == status
        for _ in range(3):
            if not pipelined:
                await stream.send(anonymous)
            assert (await wire.response())[0] == 401
    assert len(notes.kept) == 1


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"THIS IS NO HTTP\r\n\r\n", 400, "invalid_request"),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "invalid_request"),
        (b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 80_000, 431, "headers_too_large"),
        (b"GET /" + b"a" * 80_000, 431, "headers_too_large"),
        (b"GET /?" + b"a" * 80_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431, "headers_too_large"),
    ],
    ids=["no HTTP", "smuggled", "endless header", "endless path", "long query"],
)
async def test_malformed_requests_have_the_error_envelope(
    app: App, notes: Notes, sent: bytes, status: int, code: str
) -> None:
    async with serving(app, notes.operations()) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        wire = Wire(stream)
        await stream.send(sent)
        found, headers, body = await wire.response()
        assert (found, json.loads(body)["error"]) == (status, code)
        assert json.loads(body)["request_id"] == headers["x-request-id"]
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()


@pytest.mark.parametrize(
    ("path", "key", "status", "code"),
    [
        ("/api/nope", "dGhlIHNhbXBsZSBub25jZQ==", 404, "not_found"),
        ("/api/notes", "dGhlIHNhbXBsZSBub25jZQ==", 404, "not_found"),
        ("/api/ws", "", 400, "invalid_request"),
        ("/api/ws", "short", 400, "invalid_request"),
    ],
    ids=["unknown path", "no socket there", "no key", "bad key"],
)
async def test_bad_handshakes_get_the_envelope(
    app: App, notes: Notes, path: str, key: str, status: int, code: str
) -> None:
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
    sent = head + (f"\r\nSec-WebSocket-Key: {key}" if key else "") + "\r\n\r\n"
    async with serving(app, notes.operations()) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        wire = Wire(stream)
        await stream.send(sent.encode())
        found, headers, body = await wire.response()
    assert (found, json.loads(body)["error"]) == (status, code)
    assert json.loads(body)["request_id"] == headers["x-request-id"]
    assert headers["x-engrain-version"]


async def test_a_connection_may_carry_more_heads_than_one_may_be_long(app: App, notes: Notes) -> None:
    asked = b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 30_000 + b"\r\n\r\n"
    async with serving(app, notes.operations()) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        wire = Wire(stream)
        for _ in range(4):
            await stream.send(asked)
            assert (await wire.response())[0] == 200


def test_an_address_in_use_stops_the_start_with_a_sentence() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(InvalidSetting, match=r"Cannot listen on 127\.0\.0\.1"):
        bind("127.0.0.1", taken.getsockname()[1])


def test_a_bound_port_is_named_in_the_address() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104 - no one connects
        assert address_of(listener).startswith("http://127.0.0.1:")


@contextmanager
def real_server(folder: Path) -> Iterator[ServerProcess]:
    with server_process(folder, environ={"ENGRAIN_EMBEDDING_PROVIDER": "none"}) as server:
        yield server


@pytest.mark.slow
def test_an_invitation_names_the_port_that_was_free(tmp_path: Path) -> None:
    with real_server(tmp_path) as server, httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as http:
        made = http.post("/api/auth/local/signup", json=ACCOUNT).json()
        http.headers = {"Authorization": f"Bearer {made['access_token']}"}
        http.cookies.clear()
        path = f"/api/orgs/{made['organization']['slug']}/invitations"
        invited = http.post(path, json={"email": "bob@example.org"}).json()
        assert invited["invitation"]["accept_url"].startswith(f"{server.address}/api/invitations/")


@pytest.mark.slow
@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_in_time_although_clients_stay(tmp_path: Path, which: signal.Signals) -> None:
    with real_server(tmp_path) as server, httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as http:
        token = http.post("/api/auth/local/signup", json=ACCOUNT).json()["access_token"]
        http.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        opened = http.post("/mcp", json=INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        events = f"{server.address.replace('http', 'ws')}/api/ws"
        bearer = {"Authorization": f"Bearer {token}"}
        with connect(events, additional_headers=bearer, proxy=None) as listener:
            listener.send('{"type": "ping"}')
            assert "pong" in listener.recv()
            with http.stream("GET", "/mcp", headers=session) as stream:
                assert stream.status_code == 200
                started = time.monotonic()
                server.process.send_signal(which)
                assert server.process.wait(SOON) == 0
                assert time.monotonic() - started < 10
    assert (tmp_path / "lock").read_text() == "", "the folder is free again"


@pytest.mark.slow
def test_writes_that_wait_for_the_indexes_are_answered_when_the_server_stops(tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(600))
    many = {"entities": [{"name": f"Long {number}", "content": words} for number in range(128)]}
    asked: list[httpx2.Response] = []

    def write(http: httpx2.Client) -> None:
        asked.append(http.post("/api/entities/bulk?sync=true", json=many, headers={"Idempotency-Key": "bulk-1"}))

    def signed_in(server: ServerProcess, route: str) -> httpx2.Client:
        token = httpx2.post(f"{server.address}{route}", json=ACCOUNT, trust_env=False, timeout=30).json()[
            "access_token"
        ]
        bearer = {"Authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=server.address, headers=bearer, trust_env=False, timeout=30)

    with server_process(tmp_path) as server, signed_in(server, "/api/auth/local/signup") as http:
        writing = threading.Thread(target=write, args=[http])
        writing.start()
        with httpx2.Client(base_url=server.address, headers=http.headers, trust_env=False, timeout=30) as other:
            while other.get("/api/entities").json()["total"] < 128:
                assert writing.is_alive(), asked
        started = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(2 * SOON) == 0
        # Much earlier than the 20 s for which such a write waits.
        assert time.monotonic() - started < SOON
        writing.join()
        assert "Traceback" not in server.log.read_text()
    first = asked[0].json()
    assert asked[0].status_code == 201, first
    assert "vectors" in first["background_jobs"]["pending_indexes"]
    with server_process(tmp_path) as server, signed_in(server, "/api/auth/local/login") as http:
        write(http)
    assert asked[1].headers["idempotency-replayed"] == "true"
    assert [each["id"] for each in asked[1].json()["entities"]] == [each["id"] for each in first["entities"]]


@pytest.mark.slow
def test_a_second_server_on_one_folder_says_who_is_there(tmp_path: Path) -> None:
    with real_server(tmp_path) as server:
        command = [sys.executable, "-P", "-c", "from cli.main import app; app()", "serve", "--port", "0"]
        second = subprocess.run(
            [*command, "--data-dir", str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
        )
        assert second.returncode == 1
        assert server.address in second.stderr


def test_mcp_without_authentication_is_said_loudly_and_listens_on_this_machine_only(tmp_path: Path) -> None:
    environ = {"ENGRAIN_EMBEDDING_PROVIDER": "none", "ENGRAIN_MCP_AUTH_MODE": "off"}
    with server_process(tmp_path / "open", environ=environ) as server:
        assert server.address.startswith("http://127.0.0.1:")
        ready = httpx2.get(f"{server.address}/api/health/ready", trust_env=False).json()
        assert "WITHOUT authentication" in "".join(ready["warnings"])
        said = server.log.read_text()
        assert "Warning: /mcp is served WITHOUT authentication" in said
        assert "warning" in next(line for line in said.splitlines() if "mcp_without_authentication" in line)
    environ |= {"ENGRAIN_HOST": "192.0.2.1", "ENGRAIN_JWT_SECRET": "s" * 32}
    with pytest.raises(Unavailable, match="loopback only"), server_process(tmp_path / "refused", environ=environ):
        pass
