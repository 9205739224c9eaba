"""One HTTP client on one kept connection, so that what is measured is the server."""

import http.client
import json
import re
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import quote, urlsplit

from evals.progress import remark
from stores.errors import EngrainError

TIMEOUT_S = 120.0
LONGEST_WAIT_S = 3600
TOLD_FROM_S = 5
"""A wait that is shorter is nothing that a user wonders about."""
_PASSWORD = "bench-account"  # noqa: S105 - of accounts on servers that a measurement starts
_DATA = b"data:"
IDLE_S = 2.0
"""After so long a pause a new connection is made, before the server closes the old one."""

Renew = Callable[[str], str]
"""From a token that a server no longer accepts to one that it does."""


class Client:
    """Sends JSON, reads JSON; anything but success ends the measurement."""

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.address = address
        self._prefix = quote(parts.path.rstrip("/"), safe="/%")
        self._connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        self._used_at = 0.0
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        self.token = ""
        self._renew: Renew | None = None
        self.took_ms = 0.0
        """From sending the last request to having its whole answer."""
        if token:
            self.present(token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def present(self, token: str, renew: Renew | None = None) -> None:
        """Send a token with each request from now on; what the server refuses with 401 is sent once more, renewed."""
        self.token, self._renew = token, renew
        self._headers["Authorization"] = f"Bearer {token}"

    def signed_up(self, name: str) -> "Client":
        """Make an account with an organization of its own, and return a client of it."""
        account = {"email": f"{name}@localhost.test", "password": _PASSWORD, "name": name}
        return Client(self.address, self.post("/api/auth/local/signup", account)["access_token"])

    def get(self, path: str) -> dict[str, Any]:
        """Read."""
        return self._send("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any] | bytes) -> dict[str, Any]:
        """Write or ask; the body may be encoded beforehand."""
        return self._send("POST", path, body if isinstance(body, bytes) else encoded(body))

    def delete(self, path: str) -> dict[str, Any]:
        """Delete."""
        return self._send("DELETE", path, None)

    def tool(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool over MCP and return its structured answer."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.post("/mcp", call)
        result: dict[str, Any] = answer.get("result", {})
        if result.get("isError") or "structuredContent" not in result:
            raise EngrainError(f"The tool {name} answered: {str(result or answer)[:300]}")
        structured: dict[str, Any] = result["structuredContent"]
        return structured

    def pending(self) -> int:
        """How many changes some index has not applied yet, over all organizations."""
        return max(int(index["pending"]) for index in self.get("/api/health/ready")["indexes"])

    def _send(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        response, content = self._patiently(method, path, body)
        if response.status == HTTPStatus.UNAUTHORIZED and self._renew is not None:
            self.present(self._renew(self.token), self._renew)
            response, content = self._patiently(method, path, body)
        if not 200 <= response.status < 300:
            raise EngrainError(f"{method} {path} answered {response.status}: {_reason(content)}")
        if response.headers.get_content_type() == "text/event-stream":
            content = b"".join(line[len(_DATA) :] for line in content.splitlines() if line.startswith(_DATA))
        answer = _object(content)
        if answer is None:
            raise EngrainError(f"{method} {path} answered with something that is no object of JSON: {content[:300]!r}")
        return answer

    def _patiently(self, method: str, path: str, body: bytes | None) -> tuple[http.client.HTTPResponse, bytes]:
        """Wait as often as a server asks for it: one elsewhere limits how often one signs in."""
        response, content = self._exchange(method, path, body)
        while response.status == HTTPStatus.TOO_MANY_REQUESTS and (wait_s := _wait_s(response)) is not None:
            if wait_s >= TOLD_FROM_S:
                said = str((_object(content) or {}).get("message") or "")[:200].rstrip(".")
                remark(
                    f"429 {self.address}",
                    f"{self.address} lets nobody call {path} so often{said and f' ({said})'}: waiting {wait_s} s, and"
                    " again each time. Started with ENGRAIN_RATE_LIMIT_ENABLED=false, a server has no such limit.",
                )
            time.sleep(wait_s)
            response, content = self._exchange(method, path, body)
        return response, content

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[http.client.HTTPResponse, bytes]:
        if time.monotonic() - self._used_at > IDLE_S:
            self._connection.close()
        start = time.perf_counter()
        try:
            self._connection.request(method, self._prefix + path, body, self._headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            reason = str(error) or type(error).__name__
            raise EngrainError(f"{method} {path} got no answer from {self.address}: {reason}.") from error
        self.took_ms = (time.perf_counter() - start) * 1000
        self._used_at = time.monotonic()
        return response, content


def _wait_s(response: http.client.HTTPResponse) -> int | None:
    """How long a server asks to be left alone; None where it does not say so, or for longer than a run can wait."""
    said = response.getheader("Retry-After", "")
    wait_s = int(said) + 1 if re.fullmatch("[0-9]{1,9}", said) else None
    return wait_s if wait_s is not None and wait_s <= LONGEST_WAIT_S else None


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _reason(content: bytes) -> str:
    """What a refusal says, in our own shape or whatever it is."""
    said = _object(content) or {}
    words = [str(said[name]) for name in ("message", "remediation") if said.get(name)]
    return " ".join(words) or content[:300].decode(errors="replace")


def encoded(body: Mapping[str, Any]) -> bytes:
    """Encode a body."""
    return json.dumps(body).encode()
