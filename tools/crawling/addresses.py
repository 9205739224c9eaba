"""Addresses that a crawl may call."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import quote, urldefrag, urljoin, urlsplit, urlunsplit

import anyio

from stores.errors import Forbidden, Unavailable

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
    """Return the absolute address of a link, without fragment and in ASCII; None if it is no page."""
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
