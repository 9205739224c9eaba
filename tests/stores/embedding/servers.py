"""A real embedding server on a free loopback port, whose answers a test decides one by one."""

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    wait: threading.Event | None = None
    trickle: bool = False

    @classmethod
    def json(cls, value: object, status: int = 200, **headers: str) -> "Reply":
        return cls(status, json.dumps(value).encode(), headers)

    def parts(self) -> list[bytes]:
        return [bytes([byte]) for byte in self.body] if self.trickle else [self.body]


def vector(text: str, dimension: int = 4) -> list[float]:
    return [1.0 + zlib.crc32(f"{place}{text}".encode()) % 997 for place in range(dimension)]


def openai(request: dict[str, Any]) -> Reply:
    rows = [{"index": place, "embedding": vector(text)} for place, text in enumerate(request["input"])]
    return Reply.json({"object": "list", "data": rows[::-1], "model": request["model"]})


Answer = Callable[[dict[str, Any]], Reply]


@dataclass
class Server:
    usual: Answer
    url: str = ""
    first: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)

    def answer(self, request: dict[str, Any]) -> Reply:
        self.requests.append(request)
        return self.first.pop(0) if self.first else self.usual(request)


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script: Server) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.ended = threading.Event()

    def handle_error(self, *_: object) -> None: ...


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer

    def do_POST(self) -> None:
        script = self.server.script
        script.paths.append(self.path)
        script.authorizations.append(self.headers.get("Authorization"))
        reply = script.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if reply.wait is not None:
            reply.wait.wait(10)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        for part in reply.parts():
            self.wfile.write(part)
            if reply.trickle and self.server.ended.wait(0.02):
                return

    def log_message(self, *_: object) -> None: ...


@contextmanager
def running(usual: Answer) -> Iterator[Server]:
    script = Server(usual)
    with _HttpServer(script) as server:
        script.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield script
        finally:
            server.ended.set()
            server.shutdown()
            thread.join(5)
