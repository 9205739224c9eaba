"""Checks of URLs to call, and of redirects."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urlencode, urlsplit, urlunsplit

from stores.errors import InvalidRequest

LONGEST = 2048
LONGEST_PLACE = 16 * 1024
"""Characters of a return address, which may hold a whole OAuth request."""
LOG_IN_PATH = "/login"
_PORTS = {"http": 80, "https": 443}
# Browsers drop some of these from a URL, and read a backslash as a slash.
_MISREAD = re.compile(r"[\x00-\x20\x7f\\]")
_KEPT = "/?#[]@!$&'()*+,;=:%~-._"


def is_web_address(text: object) -> bool:
    """Return True for an absolute http or https URL that every parser reads alike."""
    return _configured(text) is not None


def is_safe_to_call(text: object) -> bool:
    """Return True if secrets may be sent to a URL: https, or on this machine."""
    parts = _configured(text)
    return parts is not None and (parts.scheme == "https" or is_this_machine(parts.hostname or ""))


def _configured(text: object) -> SplitResult | None:
    parts = _split(text) if isinstance(text, str) and text.isascii() and len(text) <= LONGEST else None
    return None if parts is None or parts.fragment else parts


def _split(text: object) -> SplitResult | None:
    if not isinstance(text, str) or len(text) > LONGEST_PLACE or _MISREAD.search(text):
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    sound = parts.scheme in _PORTS and parts.hostname and "@" not in parts.netloc and port != 0
    return parts if sound else None


def is_this_machine(host: str) -> bool:
    """Return True for `localhost` and the addresses of the loopback interface."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


@dataclass(frozen=True, slots=True)
class Destinations:
    """Allowed redirects: this server and the frontend."""

    frontend_url: str | None

    @property
    def home(self) -> str:
        return self.frontend_url or "/"

    def checked(self, wanted: str | None, field: str) -> str:
        """Return an allowed redirect in ASCII."""
        if not wanted:
            return self.home
        found = self._path(wanted) if wanted.startswith("/") else self._page(wanted)
        if found is None:
            raise InvalidRequest(
                f"A sign-in cannot return to {wanted[:80]!r}.",
                code="invalid_redirect",
                remediation="Name a path that begins with one slash, or a page of ENGRAIN_FRONTEND_URL.",
                details={"field": field, "expected": "a path of this server, or a page of the frontend"},
            )
        return found

    def log_in(self, error: str, destination: str) -> str:
        told = urlencode({"error": error, "next": destination})
        return f"{(self.frontend_url or '').rstrip('/')}{LOG_IN_PATH}?{told}"

    def _path(self, wanted: str) -> str | None:
        if wanted.startswith("//") or len(wanted) > LONGEST_PLACE or _MISREAD.search(wanted):
            return None
        return quote(wanted, safe=_KEPT)

    def _page(self, wanted: str) -> str | None:
        page, frontend = _split(wanted), _split(self.frontend_url)
        if page is None or frontend is None or _origin(page) != _origin(frontend):
            return None
        whole = urlunsplit((frontend.scheme, frontend.netloc, page.path or "/", page.query, page.fragment))
        return quote(whole, safe=_KEPT)
