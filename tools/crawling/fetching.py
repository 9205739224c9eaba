"""Addresses that a crawl may call, and fetching of the pages of one site."""

import ipaddress
import re
import socket
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING
from urllib.parse import quote, urldefrag, urljoin, urlsplit, urlunsplit
from urllib.robotparser import RobotFileParser

import anyio

from stores.errors import EngrainError, Forbidden, Unavailable
from tools.crawling.texts import Unreadable, kind_of
from tools.frame.threads import in_thread
from tools.runtime.version import VERSION

if TYPE_CHECKING:
    import httpx2

LONGEST = 2_000
"""Characters of the address of a document."""
_PORTS = {"http": 80, "https": 443}
_KEPT = "/?#[]@!$&'()*+,;=:%~-._"
_GLOBAL_6 = IPv6Network("2000::/3")
_METADATA = frozenset({"168.63.129.16"})
"""Services for machines of a cloud that have a public address."""
_FILES = re.compile(
    r"\.([27]z|avi|bz2|css|csv|deb|dmg|docx?|eot|epub|exe|gif|gz|ico|iso|jar|jpe?g|js|json|map|mov|mp[34]|mpe?g|msi|odt|"
    r"ogg|png|pptx?|ps|rar|rpm|rss|svg|tar|tgz|tiff?|ttf|wasm|wav|web[mp]|whl|woff2?|xlsx?|xml|xz|zip)$",
    re.IGNORECASE,
)

Network = IPv4Network | IPv6Network


def page_address(base: str, link: str) -> str | None:
    """Return the absolute address of a link, without fragment and in ASCII; None for other addresses."""
    try:
        parts = urlsplit(urldefrag(urljoin(base, link.strip()))[0])
        host, port = parts.hostname, parts.port
        if parts.scheme not in _PORTS or not host or "@" in parts.netloc or port == 0:
            return None
        name = f"[{host}]" if ":" in host else host.encode("idna").decode()
    except (ValueError, UnicodeError):
        return None
    shown = name if port in (None, _PORTS[parts.scheme]) else f"{name}:{port}"
    path = quote(parts.path or "/", safe=_KEPT)
    found = urlunsplit((parts.scheme, shown, path, quote(parts.query, safe=_KEPT), ""))
    return found if len(found) <= LONGEST and found.isprintable() else None


def origin(address: str) -> tuple[str, str | None, int]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme, 0)


def is_page(address: str) -> bool:
    return _FILES.search(urlsplit(address).path) is None


def is_wanted(address: str, include: Sequence[str], exclude: Sequence[str]) -> bool:
    """Compare the path with shell patterns: in one of `include`, if there are any, and in none of `exclude`."""
    path = urlsplit(address).path
    is_in = not include or any(fnmatchcase(path, each) for each in include)
    return is_in and not any(fnmatchcase(path, each) for each in exclude)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return False for private, loopback, link-local, translated and metadata addresses."""
    if isinstance(address, IPv6Address):
        is_translated = address.sixtofour is not None or address.teredo is not None
        return address in _GLOBAL_6 and address.is_global and not is_translated
    is_special = address.is_multicast or address.is_reserved or str(address) in _METADATA
    return address.is_global and not is_special


async def resolved(address: str, allowed: Sequence[Network], *, is_number: bool = False) -> tuple[str, bool]:
    """Return an IP address of a URL's host, to connect to no other, and whether it is public.

    With `is_number`, no name is looked up.

    Raises:
        Forbidden: One of its addresses is neither public nor in an allowed network.
        Unavailable: The name is not known.
    """
    _, host, port = origin(address)
    try:
        flags = socket.AI_NUMERICHOST if is_number else 0
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError):
        raise Unavailable(f"There is no host {host}, or its name cannot be resolved now.") from None
    numbers = [ipaddress.ip_address(each[4][0]) for each in found]
    if not all(is_public(each) or any(each in network for network in allowed) for each in numbers):
        raise Forbidden(
            f"{host} is on a private network, which this server does not crawl.",
            remediation="Ask the operator to name its network in ENGRAIN_CRAWL_NETWORKS.",
        )
    # The first of IPv4, which more machines can reach.
    number = min(numbers, key=lambda each: each.version)
    return str(number), is_public(number)


LARGEST = 10 * 1024 * 1024
LARGEST_ROBOTS = 500 * 1024
STEP_S, PAGE_S = 10.0, 60.0
"""Seconds to connect or to receive the next bytes; for one page with its redirects."""
PAUSE_S, LONGEST_PAUSE_S = 0.5, 10.0
"""Between two pages of a public host; the longest that a robots.txt may ask for."""
REDIRECTS = 5
AGENT = "Engrain"


@dataclass(frozen=True, slots=True)
class Fetched:
    url: str
    """After redirects."""
    status: int
    content_type: str = ""
    data: bytes = b""
    etag: str = ""
    modified: str = ""


class Gone(Unreadable):
    """The page is not there any more."""


class Failing(Unreadable):
    """The page may be there at another time."""


class Site:
    """Pages of one origin, one at a time."""

    def __init__(self, client: "httpx2.AsyncClient", start: str, allowed: Sequence[Network]) -> None:
        self.start = start
        self._client = client
        self._allowed = allowed
        self._robots: RobotFileParser | None = None
        self._pause_s = 0.0
        self._last = 0.0

    async def begin(self) -> None:
        """Read robots.txt.

        Raises:
            Forbidden: The host is on a private network, or its robots.txt excludes the start.
            Unavailable: The site does not answer.
        """
        try:
            data = (await self._get(urljoin(self.start, "/robots.txt"), {})).data
        except Failing as error:
            raise Unavailable(f"{self.start} has no usable rules for crawlers: its robots.txt {error}.") from None
        except Unreadable:  # RFC 9309: without one, everything may be read.
            data = b""
        self._robots = RobotFileParser()
        self._robots.parse(data[:LARGEST_ROBOTS].decode("utf-8", "replace").splitlines())
        self._pause_s = min(max(float(self._robots.crawl_delay(AGENT) or 0), self._pause_s), LONGEST_PAUSE_S)
        if not self.may_read(self.start):
            raise Forbidden(f"The robots.txt of the site does not let {AGENT} read {self.start}.")

    def may_read(self, address: str) -> bool:
        return self._robots is None or self._robots.can_fetch(AGENT, address)

    async def get(self, address: str, etag: str = "", modified: str = "") -> Fetched:
        """Return a page; status 304 where it has not changed.

        Raises:
            Unreadable: It is on another site, not there, excluded, too large, or does not answer.
        """
        conditions = {"If-None-Match": etag, "If-Modified-Since": modified}
        await anyio.sleep(max(self._last + self._pause_s - time.monotonic(), 0))
        try:
            return await self._get(address, {name: value for name, value in conditions.items() if value})
        except EngrainError as error:  # Its name leads elsewhere now.
            raise Failing(f"cannot be reached: {error.message}") from None
        finally:
            self._last = time.monotonic()

    async def _get(self, address: str, headers: dict[str, str]) -> Fetched:
        import httpx2  # noqa: PLC0415 - a third of a command's start

        try:
            with anyio.fail_after(PAGE_S):
                for _ in range(REDIRECTS + 1):
                    if not self.may_read(address):
                        raise Unreadable("is excluded by robots.txt")
                    found = await self._once(address, headers)
                    if isinstance(found, Fetched):
                        return found
                    if origin(found) != origin(self.start):
                        raise Unreadable(f"redirects to another site, {found[:200]}")
                    address = found
        except (httpx2.DecodingError, httpx2.InvalidURL) as error:
            raise Unreadable(f"cannot be read: {error}") from None
        except (TimeoutError, httpx2.HTTPError) as error:
            raise Failing(f"does not answer ({type(error).__name__})") from None
        raise Unreadable(f"redirects more than {REDIRECTS} times")

    async def _once(self, address: str, headers: dict[str, str]) -> Fetched | str:
        import httpx2  # noqa: PLC0415 - as above

        number, is_public = await resolved(address, self._allowed)
        self._pause_s = max(self._pause_s, PAUSE_S if is_public else 0)
        parts = urlsplit(address)
        # To the checked address, so that the name cannot lead elsewhere a moment later.
        target = httpx2.URL(address).copy_with(host=number)
        named, secured = headers | {"Host": parts.netloc}, {"sni_hostname": parts.hostname or ""}
        async with self._client.stream("GET", target, headers=named, extensions=secured) as answer:
            return await _read(answer, address)


async def _read(answer: "httpx2.Response", address: str) -> Fetched | str:
    status, headers = answer.status_code, answer.headers
    if status in (301, 302, 303, 307, 308):
        return page_address(address, headers.get("location", "")) or "no page"
    if status not in (200, 304):
        wrong = Gone if status in (404, 410) else Failing if status == 429 or status >= 500 else Unreadable
        raise wrong(f"answers {status}")
    content_type = headers.get("content-type", "")[:200]
    if status == 200 and kind_of(address, content_type) is None and "xml" not in content_type:
        raise Unreadable(f"is of the type {content_type or 'unknown'}, which is not read")
    given = (headers.get(name, "")[:200] for name in ("etag", "last-modified"))
    validators = (each if each.isascii() and each.isprintable() else "" for each in given)
    return Fetched(address, status, content_type, await answer.aread(), *validators)


@cache
def _tls() -> ssl.SSLContext:
    import httpx2  # noqa: PLC0415 - as above

    return httpx2.create_ssl_context()


@asynccontextmanager
async def open_site(start: str, allowed: Sequence[Network]) -> AsyncIterator[Site]:
    """Open the site of an address.

    Raises:
        EngrainError: As `Site.begin`.
    """
    tls = await in_thread(_tls)
    import httpx2  # noqa: PLC0415 - loaded above

    from auth.external.bounded import BoundedTransport  # noqa: PLC0415 - it needs httpx2

    headers = {"User-Agent": f"{AGENT}/{VERSION}", "Accept-Encoding": "identity"}
    async with httpx2.AsyncClient(
        transport=BoundedTransport(tls, LARGEST),
        timeout=STEP_S,
        follow_redirects=False,
        trust_env=False,
        headers=headers | {"Accept": "text/html, text/markdown, application/pdf;q=0.9, text/plain;q=0.8, */*;q=0.1"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
    ) as client:
        site = Site(client, start, allowed)
        await site.begin()
        yield site
