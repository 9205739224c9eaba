"""HTTP client on one kept connection, so that figures are the server's; progress on standard error."""

import http.client
import json
import sys
import time
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from stores.errors import EngrainError

TIMEOUT_S = 120.0
STUCK_S = 120.0
"""Seconds without progress of an index."""
_PASSWORD = "bench-account"  # noqa: S105 - of accounts on servers that a measurement starts
_DATA = b"data:"
_IDLE_S = 2.0
"""Reconnect after such a pause, before the server does."""


class Client:
    """Sends and reads JSON; anything but success raises."""

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address)
        self.address = address
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        self._used_at = 0.0
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self.took_ms = 0.0
        """Milliseconds of the last request."""
        self.said = ""
        """Text of the last tool."""
        self.token = ""
        if token:
            self.present(token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def present(self, token: str) -> None:
        self.token = token
        self._headers["Authorization"] = f"Bearer {token}"

    def signed_up(self, name: str) -> "Client":
        """Make an account with its own organization; return its client."""
        account = {"email": f"{name}@localhost.test", "password": _PASSWORD, "name": name}
        return Client(self.address, self.post("/api/auth/local/signup", account)["access_token"])

    def get(self, path: str) -> dict[str, Any]:
        return self._send("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any] | bytes) -> dict[str, Any]:
        return self._send("POST", path, body if isinstance(body, bytes) else encoded(body))

    def tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool over MCP and return its structured answer."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.post("/mcp", call)
        result: dict[str, Any] = answer.get("result", {})
        if result.get("isError") or "structuredContent" not in result:
            raise EngrainError(f"The tool {name} answered: {str(result or answer)[:300]}")
        self.said = "\n".join(part.get("text", "") for part in result["content"])
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def pending(self) -> int:
        """Number of unindexed changes over all organizations."""
        return max(int(index["pending"]) for index in self.get("/api/health/ready")["indexes"])

    def until_indexed(self) -> None:
        """Wait until all indexes are current; EngrainError after two minutes without progress."""
        left, since = -1, time.monotonic()
        while pending := self.pending():
            if pending != left:
                left, since = pending, time.monotonic()
            if time.monotonic() - since > STUCK_S:
                raise EngrainError(f"{pending} changes are not indexed, and have not been for {STUCK_S:.0f} s.")
            time.sleep(0.1)

    def _send(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        response, content = self._exchange(method, path, body)
        if not 200 <= response.status < 300:
            raise EngrainError(f"{method} {path} answered {response.status}: {content[:500].decode(errors='replace')}")
        if response.headers.get_content_type() == "text/event-stream":
            content = b"".join(line[len(_DATA) :] for line in content.splitlines() if line.startswith(_DATA))
        answer: dict[str, Any] = json.loads(content)
        return answer

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[http.client.HTTPResponse, bytes]:
        if time.monotonic() - self._used_at > _IDLE_S:
            self._connection.close()
        start = time.perf_counter()
        try:
            self._connection.request(method, path, body, self._headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise EngrainError(f"{method} {path} got no answer from {self.address}: {reason}.") from error
        self.took_ms = (time.perf_counter() - start) * 1000
        self._used_at = time.monotonic()
        return response, content


def encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def progress(step: str) -> None:
    print(f"{step} …", file=sys.stderr, flush=True)  # noqa: T201 - progress of a command
