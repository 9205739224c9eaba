"""Requests that a proxy and we could read differently, spoken by hand on a real connection."""

import json
from contextlib import suppress

import anyio
import pytest

from rest_bridge import server
from tests.people import Person
from tests.rest_bridge.test_server import Wire
from tests.security.harness import SOON, World

pytestmark = pytest.mark.anyio

INNER = b"GET /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n"
HANDSHAKE = (
    b"Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


async def said(world: World, sent: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    found = []
    async with await anyio.connect_tcp("127.0.0.1", world.port) as stream:
        wire = Wire(stream)
        await stream.send(sent)
        try:
            found.append(await wire.response())
            with anyio.move_on_after(0.3):
                while True:
                    found.append(await wire.response())
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
    return found


def head(*lines: str, path: str = "/api/search", method: str = "POST") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    "sent",
    [
        head("Content-Length: 5", f"Content-Length: {5 + len(INNER)}") + b"hello" + INNER,
        head("Content-Length: 5", "Content-Length: 5") + b"hello" + INNER,
        head("Content-Length: 5, 5") + b"hello" + INNER,
        head("Content-Length: +5") + b"hello" + INNER,
        head("Content-Length: 0x5") + b"hello" + INNER,
        head("Content-Length: -1") + INNER,
        head("Content-Length: 5 5") + b"hello" + INNER,
        head("Content-Length: 99999999999999999999999") + INNER,
        head("Transfer-Encoding: chunked", "Content-Length: 5") + b"0\r\n\r\n" + INNER,
        head("Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n" + INNER,
        head("Transfer-Encoding: xchunked") + b"0\r\n\r\n" + INNER,
        head("Transfer-Encoding: chunked, identity") + b"0\r\n\r\n" + INNER,
        head("Transfer-Encoding: identity, chunked, identity") + b"0\r\n\r\n" + INNER,
        head("Transfer-Encoding : chunked") + b"0\r\n\r\n" + INNER,
        head("Transfer-Encoding:\x0bchunked") + b"0\r\n\r\n" + INNER,
        head("Transfer-Encoding: chunked") + b"5;\nx\r\nhello\r\n0\r\n\r\n" + INNER,
        head("Transfer-Encoding: chunked") + b"-1\r\n" + INNER,
        head("Transfer-Encoding: chunked") + b"5\nhello0\n\n" + INNER,
        head("X: a", " folded: b") + INNER,
        head("X: a", "\tfolded") + INNER,
        head("X: a\rAuthorization: b") + INNER,
        head("X: a\nAuthorization: Bearer b") + INNER,
        head("X\x00: a") + INNER,
        head("X: a\x00b") + INNER,
        head(": nameless") + INNER,
        head("No colon") + INNER,
        head("Na me: a") + INNER,
        b"POST /api/search HTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n" + INNER,
        b"POST /api/search HTTP/3.0\r\nHost: x\r\n\r\n" + INNER,
        b"G\x00T /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n" + INNER,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + INNER,
    ],
)
async def test_what_two_readers_could_read_differently_is_read_by_none(world: World, sent: bytes) -> None:
    """At most one answer comes, and the connection ends: what follows is never taken for a request of its own."""
    answers = await said(world, sent)
    assert len(answers) == 1, [status for status, _, _ in answers]
    status, headers, body = answers[0]
    assert status == 400
    assert headers["connection"] == "close"
    assert json.loads(body)["error"] == "invalid_request"


async def test_a_request_that_is_well_formed_is_answered_with_the_next_one(world: World) -> None:
    assert [status for status, _, _ in await said(world, head("Content-Length: 2") + b"{}" + INNER)] == [401, 401]


@pytest.mark.parametrize(
    "sent",
    [b"GET /api/auth/me\r\nHost: x\r\n\r\n", b"GET /api/\r\nX: auth/me HTTP/1.1\r\nHost: x\r\n\r\n"],
    ids=["without a version", "broken line"],
)
async def test_a_request_without_a_version_is_the_last_of_its_connection(world: World, sent: bytes) -> None:
    assert len(await said(world, sent + INNER)) == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"GET http://evil.example/api/auth/me HTTP/1.1\r\nHost: evil.example\r\n",
        b"GET http://evil.example/api/auth/me HTTP/1.1\r\nHost: x\r\nX-Forwarded-Host: evil.example\r\n",
    ],
    ids=["by host", "forwarded"],
)
async def test_an_absolute_address_is_read_as_its_path(world: World, ada: Person, sent: bytes) -> None:
    """We are nobody's proxy: another host's name in the request line changes nothing."""
    [(status, _, body)] = await said(world, sent + f"Authorization: Bearer {ada.token}\r\n\r\n".encode())
    assert status == 200
    assert json.loads(body)["user"]["id"] == ada.user_id


async def test_nothing_is_tunnelled(world: World) -> None:
    answers = await said(world, b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n")
    status, headers, _ = answers[0]
    assert status >= 400
    assert "x-request-id" in headers


async def test_another_host_is_no_part_of_what_is_answered(world: World, ada: Person) -> None:
    lines = ["X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https", f"Authorization: Bearer {ada.token}"]
    slug = ada.signed.identity.organization.slug
    body = b'{"email": "new@example.org"}'
    sent = head(*lines, f"Content-Length: {len(body)}", path=f"/api/orgs/{slug}/invitations") + body
    [(status, _, answer)] = await said(world, sent.replace(b"Host: x\r\n", b"Host: evil.example\r\n", 1))
    assert status == 200
    assert b"evil" not in answer


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /api/ws HTTP/1.1\r\n" + HANDSHAKE + b"X: " + b"a" * 9_000 + b"\r\n\r\n",
        b"GET /api/ws HTTP/1.1\r\n" + HANDSHAKE + b"X: a\r\n" * 200 + b"\r\n",
        b"GET /api/ws?" + b"a" * 9_000 + b" HTTP/1.1\r\n" + HANDSHAKE + b"\r\n",
        b"POST /api/ws HTTP/1.1\r\n" + HANDSHAKE + b"\r\n",
        b"GET /api/ws HTTP/1.1\r\n" + HANDSHAKE.replace(b"13", b"8") + b"\r\n",
        b"GET /api/ws HTTP/1.1\r\n" + HANDSHAKE.replace(b"dGhlIHNhbXBsZSBub25jZQ==", b"short") + b"\r\n",
    ],
    ids=["long header", "many headers", "long path", "another method", "old version", "no key"],
)
async def test_a_handshake_that_cannot_be_read_is_answered_and_hung_up_on(world: World, sent: bytes) -> None:
    """Else connections of people without any credential would stay open for ever."""
    async with await anyio.connect_tcp("127.0.0.1", world.port) as stream:
        await stream.send(sent)
        received = b""
        with anyio.fail_after(SOON):
            try:
                while True:
                    received += await stream.receive()
            except anyio.EndOfStream:
                pass
    assert received.startswith((b"HTTP/1.1 400", b"HTTP/1.1 405", b"HTTP/1.1 426"))


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET", b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-Slow: ", head(path="/api/health", method="GET") + b"G"],
    ids=["nothing", "a word", "half a head", "the next one"],
)
async def test_unfinished_heads_time_out(world: World, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT_S", 0.2)
    async with await anyio.connect_tcp("127.0.0.1", world.port) as stream:
        await stream.send(sent)
        with anyio.fail_after(SOON), suppress(anyio.EndOfStream):
            while True:
                await stream.receive()


async def test_a_body_may_take_longer_than_a_head(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT_S", 0.2)
    async with await anyio.connect_tcp("127.0.0.1", world.port) as stream:
        await stream.send(head("Content-Length: 2", path="/api/auth/local/login"))
        with anyio.move_on_after(0.6):
            assert not await stream.receive()
        await stream.send(b"{}")
        assert (await Wire(stream).response())[0] == 422


@pytest.mark.parametrize(
    "path",
    [
        "/api/entities/..%2f..%2f..%2fetc%2fpasswd", "/api/entities/%2e%2e/%2e%2e/ledger.sqlite",
        "/api/entities/..%5c..%5cjwt_secret", "/api/entities/%00", "/api/entities/%252e%252e%252fjwt_secret",
        "/api/orgs/..%2f..", "/api/orgs/%2e%2e", "/api/users/me/sessions/..%2f..%2fjwt_secret",
        "/../../../../etc/passwd", "/api/../../jwt_secret", "/api/docs/../../../pyproject.toml", "/.git/config",
        "/api//entities", "/api/entities;/x", "/%61pi/../metrics/../jwt_secret",
    ],
)  # fmt: skip
async def test_no_path_leads_out(world: World, ada: Person, path: str) -> None:
    for method in ("GET", "DELETE"):
        sent = head(f"Authorization: Bearer {ada.token}", path=path, method=method)
        [(status, _, body)] = await said(world, sent)
        assert status in (400, 404, 405, 422)
        text = body.decode()
        assert "root:" not in text
        assert world.app.accounts.tokens.secret not in text
        assert str(world.app.folder.path) not in text
    assert (world.app.folder.path / "jwt_secret").exists()


@pytest.mark.parametrize("slug", ["..", "../x", "a/b", "a\\b", ".", "a\nb", "a%2fb", "-", "U", "é", ""])
async def test_no_organization_takes_a_name_that_is_a_path(world: World, ada: Person, slug: str) -> None:
    made = await world.post("/api/orgs", {"name": "n", "slug": slug}, ada.token)
    assert made.status_code == 422, made.text


TIRING = {
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "deep and closed": b'{"query": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "endless integer": b'{"query": "x", "limit": ' + b"9" * 100_000 + b"}",
    "endless exponent": b'{"query": "x", "limit": 1e999999999}',
    "no number": b'{"query": "x", "limit": NaN}',
    "one name many times": b"{" + b'"query": "x", ' * 20_000 + b'"query": "x"}',
    "many names": b"{" + b",".join(b'"n%d": 1' % number for number in range(50_000)) + b"}",
    "null character": b'{"query": "a\\u0000b"}',
    "lone surrogate": b'{"query": "\\ud800"}',
    "not UTF-8": b'{"query": "\xff"}',
    "UTF-16": '{"query": "x"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"query": "x"}',
}


@pytest.mark.parametrize("body", TIRING.values(), ids=TIRING)
async def test_a_body_that_tires_parsers_is_an_error_of_its_sender(world: World, ada: Person, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {ada.token}", "Content-Type": "application/json", "Accept": "application/json"}
    called = (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": %b}}' % body
    )
    for path, sent in (("/api/search", body), ("/mcp", body), ("/mcp", called), ("/register", body)):
        answer = await world.http.post(path, content=sent, headers=headers)
        assert answer.status_code < 500, (path, answer.text[:200])
    async with world.socket([("Authorization", headers["Authorization"])]) as socket:
        await socket.send(body[:30_000].decode("latin-1"))
        assert "error" in str(await socket.recv())
