"""A site on this machine, whose pages a test changes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    gate: threading.Event | None = None
    """Set by the test when the answer may be sent."""


@dataclass
class TestSite:
    __test__ = False
    address: str
    pages: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)
    """Path and status of each request, but for robots.txt."""

    def page(self, path: str, body: str, **more: Any) -> None:
        self.pages[path] = Answer(f"<html><body>{body}</body></html>".encode(), **more)

    def paths(self, status: int = 200) -> list[str]:
        return [path for path, each in self.asked if each == status]

    def answer(self, path: str, etag: str | None) -> Answer:
        found = self.pages.get(path, Answer(b"nothing", status=404))
        if found.gate is not None:
            found.gate.wait(20)
        own = found.headers.get("ETag")
        return Answer(status=304) if own is not None and own == etag else found


@contextmanager
def site() -> Iterator[TestSite]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = here.answer(self.path, self.headers.get("If-None-Match"))
            if self.path != "/robots.txt":
                here.asked.append((self.path, found.status))
            self.send_response(found.status)
            for name, value in {"Content-Type": found.content_type, **found.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here = TestSite(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        for each in here.pages.values():
            if each.gate is not None:
                each.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
