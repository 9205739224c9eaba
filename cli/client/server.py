"""HTTP requests to a server by its address; every failure becomes a sentence."""

import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from auth.external.addresses import is_this_machine
from cli.client.failure import CommandFailed, ExitCode, NotFound, Refused, TimedOut, Unreachable

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


class Answer(NamedTuple):
    status: int
    header: Mapping[str, str]
    """Lower-case names."""
    lines: Iterable[bytes]
    """Parts of the body that end at line feeds, and nowhere else."""


class Server:
    """A server, connected by the first request."""

    def __init__(self, address: str, pid: int | None = None) -> None:
        self.address, self.pid = address, pid
        self.version = ""
        """Known after the first answer."""
        self._pool: httpx2.Client | None = None

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
        with self.exchange(method, path, content, headers) as answer:
            return self._read(answer)

    @contextmanager
    def exchange(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str], timeout_s: float | None = None
    ) -> Iterator[Answer]:
        """Send a request, and yield the answer while it arrives; Unreachable if the connection fails on the way."""
        parts, timeout_s = urlsplit(self.address), timeout_s or ANSWER_TIMEOUT_S
        if parts.scheme == "http" and is_local(self.address):
            # Without proxy, TLS and pool, the standard library does: loading httpx2 takes longer than the request.
            try:
                with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
                    connection.request(method, parts.path + path, content, dict(headers))
                    with connection.getresponse() as got:
                        yield Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got)
            except (OSError, HTTPException, UnicodeError) as error:
                raise self._unreachable(error, is_late=isinstance(error, TimeoutError)) from None
            return
        import httpx2  # noqa: PLC0415 - a third of a command's start

        timeout = httpx2.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S)
        try:
            with self._http(httpx2).stream(
                method, self.address + path, content=content, headers=dict(headers), timeout=timeout
            ) as reply:
                yield Answer(reply.status_code, reply.headers, _lines(reply.iter_bytes()))
        except (httpx2.InvalidURL, httpx2.HTTPError, UnicodeError) as error:
            raise self._unreachable(error, is_late=isinstance(error, httpx2.TimeoutException)) from None

    def _unreachable(self, error: Exception, *, is_late: bool) -> Unreachable:
        text = f"No Engrain server answers at {self.address}: {str(error) or type(error).__name__}."
        if not is_late:
            return Unreachable(text, OTHERWISE)
        who, end = (f"Process {self.pid}", f" To end it: kill -9 {self.pid}") if self.pid else ("It", "")
        return TimedOut(text, f"{who} is stopped or overloaded: `engrain doctor` tells.{end}")

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def _http(self, httpx2: ModuleType) -> "httpx2.Client":
        if self._pool is None:
            from http.cookiejar import CookieJar, DefaultCookiePolicy  # noqa: PLC0415 - as httpx2

            self._pool = httpx2.Client(
                # Shorter than the server's five: it must not close a connection on which a request is sent.
                limits=httpx2.Limits(keepalive_expiry=KEEP_ALIVE_S),
                # A login sets cookies, and with them each request would be one of that session.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                # A proxy of the environment is for other hosts than this one.
                trust_env=not is_local(self.address),
                follow_redirects=False,
            )
        return self._pool

    def _read(self, answer: Answer) -> JsonObject:
        self.version = answer.header.get(_STAMP, "")
        if not self.version:
            raise Unreachable(f"What answers at {self.address} is not Engrain (status {answer.status}).", OTHERWISE)
        if answer.status == 204:
            return {}
        try:
            body = json.loads(b"".join(answer.lines))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise Unreachable(
                f"{self.address} answered with something that is not an object.", "Is there a proxy that changes it?"
            )
        if 200 <= answer.status < 300:
            return body
        wait = answer.header.get("retry-after", "")
        raise (NotFound if answer.status == 404 else Refused)(
            answer.status,
            str(body.get("error", "")),
            str(body.get("message", "The server refused it.")),
            str(body.get("remediation", "")),
            float(wait) if wait.isascii() and wait.isdigit() else None,
        )


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    yield rest


def user_agent() -> str:
    from tools.runtime.version import VERSION  # noqa: PLC0415 - reading metadata takes a while

    return f"engrain/{VERSION} ({platform.system()} {platform.machine()})"
