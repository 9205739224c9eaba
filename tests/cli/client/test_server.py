"""Whatever is at an address that is no Engrain server is said in a sentence."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cli.client.client import Client
from cli.client.credentials import CredentialFile
from cli.client.failure import CommandFailed, ExitCode, Refused, Unreachable, shown
from cli.client.server import Server
from tools.runtime.client_settings import ClientSettings

JSON = {"Content-Type": "application/json"}
OURS = JSON | {"X-Engrain-Version": "0.1.0"}


@contextmanager
def thread_of(run: Callable[[], object]) -> Iterator[None]:
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@contextmanager
def answering(
    status: int, headers: dict[str, str], body: bytes, cookies: list[str | None] | None = None
) -> Iterator[str]:

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if cookies is not None:
                cookies.append(self.headers.get("Cookie"))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, thread_of(server.serve_forever):
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def talking(react: Callable[[socket.socket], object]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                react(connection)

        with thread_of(serve):
            yield f"127.0.0.1:{listener.getsockname()[1]}"


def failure_at(address: str) -> CommandFailed:
    with closing(Server(address)) as server, pytest.raises(CommandFailed) as failed:
        server.request("GET", "/api/auth/me")
    assert address in failed.value.message
    assert failed.value.remediation
    return failed.value


@pytest.mark.parametrize(
    ("status", "headers", "body", "said"),
    [
        (200, {"Content-Type": "text/html"}, b"<html>", "is not Engrain (status 200)"),
        (404, JSON, b'{"detail": "Not Found"}', "is not Engrain (status 404)"),
        (401, JSON, b'{"error": "authentication_required"}', "is not Engrain (status 401)"),
        (301, {"Location": "https://elsewhere.example/"}, b"", "is not Engrain (status 301)"),
        (502, {"Content-Type": "text/html"}, b"Bad Gateway", "is not Engrain (status 502)"),
        (200, OURS, b"[]", "not an object"),
        (200, OURS, b"\xff", "not an object"),
    ],
    ids=["web page", "another API", "another login", "redirect", "proxy", "list", "bytes"],
)
def test_another_service_is_told_from_ours(status: int, headers: dict[str, str], body: bytes, said: str) -> None:
    with answering(status, headers, body) as address:
        failure = failure_at(address)
    assert said in failure.message
    assert failure.code == ExitCode.UNREACHABLE


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        failure = failure_at(f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert "No Engrain server answers" in failure.message
    assert "engrain serve" in failure.remediation


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_speaks_another_protocol(scheme: str) -> None:
    with talking(lambda connection: connection.sendall(b"220 mail.example ESMTP\r\n")) as place:
        assert "No Engrain server answers" in failure_at(f"{scheme}://{place}").message


@pytest.mark.parametrize(("status", "code"), [(401, ExitCode.NOT_LOGGED_IN), (403, ExitCode.FAILED)])
def test_a_refusal_keeps_its_words(status: int, code: ExitCode) -> None:
    body = {"error": "some_code", "message": "No.", "request_id": "req_1", "remediation": "Ask."}
    with (
        answering(status, OURS | {"Retry-After": "7"}, json.dumps(body).encode()) as address,
        closing(Server(address)) as server,
        pytest.raises(Refused) as refused,
    ):
        server.request("GET", "/")
    found = refused.value
    assert (found.status, found.error, found.message, found.remediation) == (status, "some_code", "No.", "Ask.")
    assert (found.retry_after_s, found.code) == (7.0, code)


def test_cookies_of_an_answer_are_not_sent_back() -> None:
    headers = OURS | {"Set-Cookie": "engrain_access_token=secret; Path=/"}
    sent: list[str | None] = []
    with answering(200, headers, b"{}", sent) as address, closing(Server(address)) as server:
        for _ in range(2):
            server.request("GET", "/")
    assert sent == [None, None]


def test_an_answer_without_tokens_is_no_login(tmp_path: Path) -> None:
    with answering(200, OURS, b'{"user": {"email": 5}}') as address, closing(Server(address)) as server:
        client = Client(server, CredentialFile(tmp_path), ClientSettings())
        with pytest.raises(Unreachable, match="does not understand"):
            client.session_of(server.request("GET", "/"), "ada@example.org")


def test_what_moves_the_cursor_is_not_printed() -> None:
    assert shown("Acme\x1b[2J\u202e\r\nörg 木") == "Acme?[2J???örg 木"
    assert isinstance(Unreachable("x"), CommandFailed)
