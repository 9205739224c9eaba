"""Git over HTTP from a thread of the test: the smart protocol through Git's own program."""

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(slots=True)
class Served:
    root: Path
    port: int = 0
    password: str | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/project.git"


class _Smart(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, served: Served, *arguments: object) -> None:
        self.served = served
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._run(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._run(body)

    def _run(self, body: bytes) -> None:
        self.served.asked.append(self.path)
        if self.served.password and self.headers.get("Authorization") != _basic(self.served.password):
            self._answer(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
            return
        path, _, query = self.path.partition("?")
        settings = {
            "GIT_PROJECT_ROOT": str(self.served.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env={**os.environ, **settings}, capture_output=True, check=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [(key, value) for key, _, value in (line.partition(": ") for line in head.decode().split("\r\n"))]
        status = next((int(value.split()[0]) for key, value in headers if key == "Status"), 200)
        self._answer(status, [pair for pair in headers if pair[0] != "Status"], content)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _basic(password: str) -> str:
    return "Basic " + base64.b64encode(password.encode()).decode()


@contextmanager
def smart(root: Path, password: str | None = None) -> Iterator[Served]:
    served = Served(root, password=password)
    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Smart, served))) as port:
        served.port = port
        yield served


@contextmanager
def _serving(server: ThreadingHTTPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
