"""`engrain mcp`: MCP over standard input and output, for clients that start a command.

Each line is passed on to `/mcp` of a server and its answers come back as lines. The proxy does
not interpret them; it knows the session, the working folder's project, and what to do when the server restarts.
"""

import base64
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from cli.client import Client, CommandFailed, open_client
from cli.client.failure import Refused, TimedOut, Unreachable
from cli.client.server import Answer, JsonObject
from cli.local.project import project_for
from cli.local.server import alone, data_folder

AT_ONCE = 32
LAST_ANSWERS_S = 10.0
"""Seconds for open calls once the client has closed standard input."""
CALL_TIMEOUT_S = 600.0
PAUSES_S = (0.0, 0.2, 1.0, 3.0)
"""Before each new connection: a server that is killed accepts connections for a moment longer."""
_SERVER_ERROR, _PARSE_ERROR = -32000, -32700
_MODERN = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_GREETINGS = ("initialize", "server/discover")


def run_mcp(environ: Mapping[str, str], *, url: str | None) -> int:
    """Serve MCP until the client closes standard input."""
    # Answers are the only thing on standard output.
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    proxy = Proxy(environ, url, output)
    try:
        proxy.run(sys.stdin.buffer)
    finally:
        # The threads of open calls would keep the process alive.
        os._exit(0)


class Proxy:
    def __init__(self, environ: Mapping[str, str], url: str | None, output: BinaryIO) -> None:
        self.environ, self.url, self.output = environ, url, output
        self.writing, self.connecting = Lock(), Lock()
        self.connection = ExitStack()
        self.client: Client | None = None
        self.headers: dict[str, str] = {}
        """Session and revision of the protocol, after `initialize`."""

    def run(self, lines: BinaryIO) -> None:
        pool = ThreadPoolExecutor(AT_ONCE, "mcp-call")
        opened: set[Future[None]] = set()
        greeting: Future[None] | None = None
        for line in lines:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                self.write(_error(None, "This line is no JSON.", _PARSE_ERROR))
                continue
            call = pool.submit(self.answer, message, line, greeting)
            opened = {each for each in opened if not each.done()} | {call}
            if isinstance(message, dict) and message.get("method") in _GREETINGS:
                greeting = call
        wait(opened, LAST_ANSWERS_S)
        with suppress(CommandFailed):
            self.end_session()

    def answer(self, message: Any, line: bytes, greeting: "Future[None] | None") -> None:
        """Pass a message on and write its answers; a failure becomes an error of the protocol."""
        if greeting is not None:  # It needs the session.
            wait([greeting])
        asked = message if isinstance(message, dict) else {}
        try:
            self.deliver(asked, line)
        except Exception as failure:  # noqa: BLE001 - without an answer the client would wait for ever
            text = f"{failure} {getattr(failure, 'remediation', '')}".strip()
            if asked.get("id") is not None and "method" in asked:
                self.write(_error(asked["id"], text))
            else:
                sys.stderr.write(f"{text}\n")

    def deliver(self, asked: JsonObject, line: bytes) -> None:
        # With the same key the server carries a call out once, whatever it had done before it ended.
        key = {"Idempotency-Key": str(uuid.uuid4())} if asked.get("method") == "tools/call" else {}
        client = self.connected(None)
        for pause_s in PAUSES_S:
            try:
                return self.exchange(client, asked, line, key)
            except TimedOut:
                raise
            except Unreachable as unreachable:
                lost = unreachable
            time.sleep(pause_s)
            client = self.connected(client)
        raise lost

    def connected(self, lost: Client | None) -> Client:
        """Return the connection, made anew if it is the lost one, which open calls may still hold."""
        with self.connecting:
            if self.client is lost:
                self.client = self.connection.enter_context(open_client(self.environ, url=self.url))
            assert self.client is not None  # noqa: S101 - for the type checker
            return self.client

    def exchange(self, client: Client, asked: JsonObject, line: bytes, key: Mapping[str, str]) -> None:
        headers = {"Content-Type": "application/json", **_modern_headers(asked), **key}
        if _is_plain(asked):  # It reports no progress, and an event stream costs more.
            headers["Accept"] = "application/json"
        else:
            headers |= {"Accept": "application/json, text/event-stream", **self.headers}

        timeout_s = CALL_TIMEOUT_S if asked.get("method") in _NAMED_BY else None  # that of all commands

        def send(token: str) -> None:
            sent = {**headers, "Authorization": f"Bearer {token}"}
            with client.server.exchange("POST", "/mcp", line, sent, timeout_s) as reply:
                if reply.status == 401:
                    raise Refused(401, "invalid_token", "The server does not accept the token.", "", None)
                self.pass_on(client, asked, reply)

        client.authorized(send)

    def pass_on(self, client: Client, asked: JsonObject, reply: Answer) -> None:
        if asked.get("method") == "initialize" and (session := reply.header.get("mcp-session-id")):
            self.headers["mcp-session-id"] = session
        is_open = "method" in asked and asked.get("id") is not None
        for answer in _messages(client.server.address, reply):
            if asked.get("method") in _GREETINGS and "result" in answer:
                self.greet(client, asked, answer["result"])
            if "jsonrpc" not in answer:
                said = f"{answer.get('message', '')} {answer.get('remediation', '')}".strip()
                answer = _error(asked.get("id"), said)
            if is_open and "error" in answer and answer.get("id") is None:
                answer["id"] = asked["id"]  # The server could not read it.
            is_open = is_open and answer.get("id") != asked["id"]
            self.write(answer)
        if is_open:  # The end of a stream looks alike when the server was killed.
            raise Unreachable(f"{client.server.address} ended the connection without an answer.")

    def greet(self, client: Client, asked: JsonObject, result: JsonObject) -> None:
        """Keep the agreed revision, and name the working folder's project in the instructions."""
        if asked["method"] == "initialize":
            self.headers["mcp-protocol-version"] = str(result.get("protocolVersion", ""))
        with suppress(CommandFailed):
            if name := self.project(client):
                said = f'The working folder belongs to the project "{name}": give it as `project` to read or keep.'
                result["instructions"] = f"{result.get('instructions', '')}\n{said}".strip()

    def project(self, client: Client) -> str | None:
        # Of proxies that start together, one makes it.
        with alone(data_folder(self.environ)) if client.is_own else nullcontext():
            found = project_for(client)
            if found and client.is_own and not found.is_there:
                body: JsonObject = {"name": found.name, "entity_type": "project", "content": f"Work in {Path.cwd()}."}
                client.call("POST", "/api/entities?sync=true", body | {"metadata": {"repository_url": found.remote}})
        return found.name if found and (client.is_own or found.is_there) else None

    def end_session(self) -> None:
        if self.client is None or "mcp-session-id" not in self.headers:
            return
        client = self.client

        def end(token: str) -> None:
            headers = {**self.headers, "Authorization": f"Bearer {token}"}
            with client.server.exchange("DELETE", "/mcp", None, headers, 1):
                pass

        client.authorized(end)

    def write(self, message: JsonObject) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self.writing:
            view = memoryview(line)
            try:
                while view:
                    view = view[self.output.write(view) :]
            except BrokenPipeError:  # The client is gone.
                os._exit(0)


def _messages(address: str, reply: Answer) -> Iterator[JsonObject]:
    if reply.header.get("content-type", "").startswith("text/event-stream"):
        # The server writes the data of an event as one line.
        texts = (line.removeprefix(b"data:") for line in reply.lines if line.startswith(b"data:"))
    else:
        texts = (each for each in (b"".join(reply.lines),))
    for text in texts:
        if text.strip():
            try:
                message = json.loads(text)
            except ValueError:
                raise CommandFailed(f"The server at {address} is not Engrain (status {reply.status}).") from None
            yield message


def _error(request_id: object, text: str, code: int = _SERVER_ERROR) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def _modern_headers(asked: JsonObject) -> dict[str, str]:
    """Return the headers that revisions without a handshake mirror from the message."""
    params = asked.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_MODERN) if isinstance(meta, dict) else None
    if not isinstance(version, str) or not isinstance(params, dict):
        return {}
    method = str(asked.get("method", ""))
    headers = {"mcp-protocol-version": version, "mcp-method": method}
    if method in _NAMED_BY:
        headers["mcp-name"] = _header(str(params.get(_NAMED_BY[method], "")))
    return headers


def _is_plain(asked: JsonObject) -> bool:
    params = asked.get("params")
    return asked.get("method") == "tools/call" and isinstance(params, dict) and not params.get("_meta")


def _header(value: str) -> str:
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="
