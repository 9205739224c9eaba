"""HTTP requests to a server by its address; every failure becomes a sentence."""

import json
import platform
import re
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from auth.external.addresses import is_this_machine
from cli.client.failure import CommandFailed, ExitCode, Refused, Unreachable

DEFAULT = "http://127.0.0.1:8420"

_CREDENTIALS = re.compile(r"[^/\s]*@")
_PORTS = {"http": 80, "https": 443}


def server_address(typed: str) -> str:
    """Normalize an address, or raise CommandFailed; the default scheme is `http` for this machine, else `https`."""
    text = typed.strip()
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _no_address(typed) from None
    scheme = parts.scheme or ("http" if host and is_this_machine(host) else "https")
    if scheme not in _PORTS or not host or not text.isprintable() or any(map(str.isspace, text)):
        raise _no_address(typed)
    if parts.username is not None or parts.query or parts.fragment:
        raise _no_address(typed)
    named = f"[{host}]" if ":" in host else host
    shown_port = "" if port in (None, _PORTS[scheme]) else f":{port}"
    return f"{scheme}://{named}{shown_port}{parts.path.rstrip('/')}"


def is_local(address: str) -> bool:
    return is_this_machine(urlsplit(address).hostname or "")


def is_in_clear(address: str) -> bool:
    """Return whether traffic to a server is unencrypted and leaves this machine."""
    return address.startswith("http://") and not is_local(address)


def _no_address(typed: str) -> CommandFailed:
    return CommandFailed(
        f"{_CREDENTIALS.sub('…@', typed)!r} is not the address of a server.",
        "Write it as https://engrain.example.org, without a user name, a query or a fragment.",
        code=ExitCode.USAGE,
    )


if TYPE_CHECKING:
    import httpx2

JsonObject = dict[str, Any]

CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 30.0
KEEP_ALIVE_S = 3.0
_STAMP = "x-engrain-version"
"""Header of every answer of ours."""
_SESSIONS = "/api/auth/"
"""Only these requests name the program, which lists of sessions show: reading its version takes 40 ms."""
OTHERWISE = "Start it with `engrain serve`, or name another one with --url or ENGRAIN_URL."


class _Answer(NamedTuple):
    status: int
    header: Mapping[str, str]
    """Lower-case names."""
    body: bytes


class Server:
    """A server, connected by the first request."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.version = ""
        """Known after the first answer."""
        self._http: httpx2.Client | None = None

    def request(
        self, method: str, path: str, body: JsonObject | None = None, *, token: str | None = None
    ) -> JsonObject:
        """Send a request and return the answer, empty without a body, or raise Refused or Unreachable."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if path.startswith(_SESSIONS):
            headers["User-Agent"] = user_agent()
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        is_near = self.address.startswith("http:") and is_local(self.address)
        answer = (self._send_here if is_near else self._send)(method, path, content, headers)
        return self._read(answer)

    def _send_here(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> _Answer:
        # Without proxy, TLS and pool, the standard library does: loading httpx2 takes longer than the request.
        parts = urlsplit(self.address)
        try:
            with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_TIMEOUT_S)) as connection:
                connection.request(method, parts.path + path, content, headers)
                answer = connection.getresponse()
                return _Answer(
                    answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
                )
        except (OSError, HTTPException, UnicodeError) as error:
            raise self._unreachable(error) from None

    def _send(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> _Answer:
        import httpx2  # noqa: PLC0415 - a third of a command's start

        try:
            answer = self.http().request(method, self.address + path, content=content, headers=headers)
        except (httpx2.InvalidURL, httpx2.HTTPError, UnicodeError) as error:
            raise self._unreachable(error) from None
        return _Answer(answer.status_code, answer.headers, answer.content)

    def _unreachable(self, error: Exception) -> Unreachable:
        reason = str(error) or type(error).__name__
        return Unreachable(f"No Engrain server answers at {self.address}: {reason}.", OTHERWISE)

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

    def http(self) -> "httpx2.Client":
        """Return the connections to the server, for several threads."""
        if self._http is None:
            import ssl  # noqa: PLC0415 - as above
            from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - as above

            import httpx2  # noqa: PLC0415 - as above

            self._http = httpx2.Client(
                timeout=httpx2.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
                # Shorter than the server's five: it must not close a connection on which a request is sent.
                limits=httpx2.Limits(keepalive_expiry=KEEP_ALIVE_S),
                # A login sets cookies, and with them each request would be one of that session.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                # Without TLS no authorities are needed, and loading them takes longer than the request.
                verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if self.address.startswith("http:") else True,
                # A proxy of the environment is for other hosts than this one.
                trust_env=not is_local(self.address),
                follow_redirects=False,
            )
        return self._http

    def _read(self, answer: _Answer) -> JsonObject:
        self.version = answer.header.get(_STAMP, "")
        if not self.version:
            raise Unreachable(f"What answers at {self.address} is not Engrain (status {answer.status}).", OTHERWISE)
        if answer.status == 204:
            return {}
        try:
            body = json.loads(answer.body)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Unreachable(
                f"{self.address} answered with something that is not an object.", "Is there a proxy that changes it?"
            )
        if 200 <= answer.status < 300:
            return body
        wait = answer.header.get("retry-after", "")
        raise Refused(
            answer.status,
            str(body.get("error", "")),
            str(body.get("message", "The server refused it.")),
            str(body.get("remediation", "")),
            float(wait) if wait.isascii() and wait.isdigit() else None,
        )


def user_agent() -> str:
    from tools.runtime.version import VERSION  # noqa: PLC0415 - reading metadata takes a while

    return f"engrain/{VERSION} ({platform.system()} {platform.machine()})"
