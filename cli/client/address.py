"""Normalized addresses of servers."""

import ipaddress
import re
from urllib.parse import urlsplit

from cli.client.failure import CommandFailed, ExitCode

DEFAULT = "http://127.0.0.1:8420"

_CREDENTIALS = re.compile(r"[^/\s]*@")
_PORTS = {"http": 80, "https": 443}


def server_address(typed: str) -> str:
    """Normalize an address, without a trailing slash; the default scheme is `http` for this machine, else `https`.

    Raises:
        CommandFailed: It is not the address of a server.
    """
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


def is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
