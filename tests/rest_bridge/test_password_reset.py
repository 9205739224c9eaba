"""A forgotten password is reset by mail, and nobody learns who has an account."""

import re
import socketserver
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rest_bridge.application import build_asgi
from tests.people import PASSWORD
from tests.rest_bridge.harness import assert_envelope, client_of, settings_at
from tools.app import App, open_app
from tools.logs import LogRing
from tools.mail import Letter, Mailer

pytestmark = pytest.mark.anyio

NEW = "a password to remember"
EMAIL = "Grace@example.org"


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app(tmp_path: Path, clock: Clock) -> AsyncIterator[App]:
    settings = settings_at(tmp_path, rate_limit_enabled=False)
    async with open_app(settings, logs=LogRing(), clock=clock) as app:
        yield app


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(build_asgi(app)) as client:
        yield client


@pytest.fixture
async def grace(client: httpx2.AsyncClient) -> dict[str, Any]:
    body = {"email": EMAIL, "password": PASSWORD, "name": "Grace"}
    signed = await client.post("/api/auth/local/signup", json=body)
    client.cookies.clear()
    return dict(signed.json())


async def ask(client: httpx2.AsyncClient, app: App, email: str) -> httpx2.Response:
    """Ask for a reset, and wait until what was posted is sent."""
    answer = await client.post("/api/users/password/reset", json={"email": email})
    app.mailer.wait()
    return answer


def tokens(app: App) -> list[str]:
    """The tokens that were mailed, the oldest first."""
    texts = [path.read_text() for path in sorted(app.mailer.folder.glob("*.eml"))]
    return [found[0] for text in texts for found in [re.findall(r"^[\w-]{43}$", text, re.M)]]


async def confirm(client: httpx2.AsyncClient, token: str, password: str = NEW) -> httpx2.Response:
    body = {"token": token, "new_password": password}
    return await client.post("/api/users/password/reset/confirm", json=body)


async def test_the_mailed_token_resets_the_password_once_and_ends_all_sessions(
    client: httpx2.AsyncClient, app: App, grace: dict[str, Any]
) -> None:
    await ask(client, app, EMAIL.lower())
    (letter,) = app.mailer.folder.glob("*.eml")
    assert letter.stat().st_mode & 0o777 == 0o600
    message = message_from_bytes(letter.read_bytes(), policy=policy.default)
    assert message["To"] == EMAIL
    (token,) = tokens(app)
    short = await confirm(client, token, "short")
    assert_envelope(short, 422, "validation_error")
    assert (await confirm(client, token)).status_code == 204
    assert_envelope(await confirm(client, token), 400, "invalid_reset_token")
    bearer = {"Authorization": f"Bearer {grace['access_token']}"}
    assert_envelope(await client.get("/api/auth/me", headers=bearer), 401, "authentication_required")
    for password, status in ((PASSWORD, 401), (NEW, 200)):
        entry = await client.post("/api/auth/local/login", json={"email": EMAIL, "password": password})
        assert entry.status_code == status


async def test_the_answer_never_tells_whether_there_is_an_account(
    client: httpx2.AsyncClient, app: App, grace: dict[str, Any]
) -> None:
    known, unknown = await ask(client, app, EMAIL), await ask(client, app, "nobody@example.org")
    assert (known.status_code, known.json()) == (unknown.status_code, unknown.json())
    assert known.status_code == 202
    assert len(tokens(app)) == 1


async def test_one_mail_in_two_minutes_and_a_token_lasts_an_hour(
    client: httpx2.AsyncClient, app: App, grace: dict[str, Any], clock: Clock
) -> None:
    for passed in (0, 119, 2):
        clock.now += timedelta(seconds=passed)
        await ask(client, app, EMAIL)
    first, second = tokens(app)
    clock.now += timedelta(minutes=58, seconds=1)
    assert_envelope(await confirm(client, first), 400, "invalid_reset_token")
    assert (await confirm(client, second)).status_code == 204


async def test_an_account_without_a_password_gets_no_mail(
    client: httpx2.AsyncClient, app: App, grace: dict[str, Any]
) -> None:
    app.ledger.set_password_hash(grace["user"]["id"], None)
    assert (await ask(client, app, EMAIL)).status_code == 202
    assert not app.mailer.folder.exists()


async def test_a_made_up_token_is_refused(client: httpx2.AsyncClient) -> None:
    assert_envelope(await confirm(client, "guess"), 400, "invalid_reset_token")


class _Conversation(socketserver.StreamRequestHandler):
    """Just enough of RFC 5321 to take one letter."""

    def handle(self) -> None:
        heard: list[str] = self.server.heard  # type: ignore[attr-defined]
        self.wfile.write(b"220 ready\r\n")
        while line := self.rfile.readline().decode().strip():
            heard.append(line)
            if line.upper() == "DATA":
                self.wfile.write(b"354 go on\r\n")
                while (part := self.rfile.readline()) != b".\r\n":
                    heard.append(part.decode().rstrip())
            self.wfile.write(b"221 bye\r\n" if line.lower() == "quit" else b"250 fine\r\n")
            if line.lower() == "quit":
                return


@pytest.fixture
def smtp() -> Iterator[socketserver.TCPServer]:
    with socketserver.TCPServer(("127.0.0.1", 0), _Conversation) as server:
        server.heard = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_mail_goes_to_the_server_that_is_set(tmp_path: Path, clock: Clock, smtp: socketserver.TCPServer) -> None:
    host, port = smtp.server_address[:2]
    settings = settings_at(
        tmp_path, smtp_host=str(host), smtp_port=port, smtp_security="none", smtp_from="Us <us@example.org>"
    )
    mailer = Mailer(settings, clock)
    mailer.post(lambda: Letter("grace@example.org", "Hello", "Some text.\n"))
    mailer.close()
    heard: list[str] = smtp.heard  # type: ignore[attr-defined]
    assert "rcpt TO:<grace@example.org>" in heard
    assert "mail FROM:<us@example.org>" in [line.split(" size=")[0] for line in heard]
    assert {"Subject: Hello", "From: Us <us@example.org>", "Some text."} <= set(heard)
    assert not mailer.folder.exists()


def test_a_letter_that_cannot_be_sent_does_not_stop_the_next(tmp_path: Path, clock: Clock) -> None:
    mailer = Mailer(settings_at(tmp_path), clock)
    mailer.post(lambda: Letter("not an address", "a", "b"))
    mailer.post(lambda: Letter("grace@example.org", "second", "b"))
    mailer.close()
    (letter,) = mailer.folder.glob("*.eml")
    assert "second" in letter.read_text()
