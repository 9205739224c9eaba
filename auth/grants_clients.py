"""OAuth clients: dynamic registration (RFC 7591) and redirect URIs."""

import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from pydantic import JsonValue

from auth.one_time import new_token, token_hash
from stores.errors import InvalidRequest
from stores.ledger import Ledger, OAuthClient
from stores.records import JsonObject


class OAuthRefused(InvalidRequest):
    """400 with an error code of OAuth (RFC 6749, 7591, 8707)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


class ClientUnknown(OAuthRefused):
    """401: there is no such client, or its secret is wrong."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_client", message)


AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")
GRANT_TYPES = ("authorization_code", "refresh_token")
REDIRECT_URIS = 10
REDIRECT_URI_LENGTH = 1000
NAME_LENGTH = 100

_ADDRESS = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]+")
"""Characters of a URI without a fragment (RFC 3986)."""
_LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::([0-9]{1,5}))?((?:[/?].*)?)")
_PRIVATE = re.compile(r"([a-z][a-z0-9+.-]*):/.*")
_NEVER = frozenset(
    re.findall(
        r"\S+",
        "about blob chrome chrome-extension content data edge feed file filesystem ftp http https intent jar"
        " javascript mailto moz-extension res resource sms ssh tel urn vbscript view-source ws wss",
    )
)
_HOST = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.?|\[[0-9A-Fa-f:.]+\]")
_ID = re.compile(r"mcp_[A-Za-z0-9_-]{24}")
_METADATA = "invalid_client_metadata"


@dataclass(frozen=True, slots=True)
class ClientRegistry:
    """All registered clients. Every method blocks."""

    ledger: Ledger
    clock: Callable[[], datetime]

    def register(self, described: Mapping[str, JsonValue]) -> tuple[OAuthClient, str | None]:
        metadata = checked_metadata(described)
        is_public = metadata["token_endpoint_auth_method"] == "none"  # noqa: S105 - a word of the protocol
        secret = None if is_public else new_token()
        now = self.clock()
        stored = OAuthClient("mcp_" + secrets.token_urlsafe(18), secret and secret[1], metadata, now, now)
        self.ledger.grants.add_client(stored)
        return stored, secret and secret[0]

    def find(self, client_id: str) -> OAuthClient | None:
        return self.ledger.grants.client(client_id) if _ID.fullmatch(client_id) else None

    def authenticate(self, client_id: str, secret: str | None) -> OAuthClient:
        """Return the client; a public client has no secret."""
        client = self.find(client_id)
        expected = client.secret_hash if client is not None else None
        proven = secret is None if expected is None else hmac.compare_digest(token_hash(secret or ""), expected)
        if client is None or not proven:
            raise ClientUnknown("The client does not exist, or its secret is not right. Register it again.")
        return client


def registered_uri(client: OAuthClient, asked: str | None) -> str | None:
    """Return a registered redirect URI, by default the only one; loopback ports may differ (RFC 8252, 7.3)."""
    known = client.redirect_uris
    if asked is None:
        return known[0] if len(known) == 1 else None
    portless = _portless(asked)
    return asked if any(asked == each or (portless and portless == _portless(each)) for each in known) else None


def checked_metadata(described: Mapping[str, JsonValue]) -> JsonObject:
    """Check a client's description, fill in defaults, and drop unknown fields."""
    redirect_uris = _strings(described, "redirect_uris", ())
    if not 1 <= len(redirect_uris) <= REDIRECT_URIS:
        raise OAuthRefused("invalid_redirect_uri", f"redirect_uris has 1 to {REDIRECT_URIS} entries.")
    for uri in redirect_uris:
        check_redirect_uri(uri)
    # The default of RFC 7591 is `client_secret_basic`; a server may choose another.
    method = described.get("token_endpoint_auth_method") or "none"
    if method not in AUTH_METHODS:
        raise OAuthRefused(_METADATA, f"token_endpoint_auth_method is one of {', '.join(AUTH_METHODS)}.")
    grant_types = _strings(described, "grant_types", GRANT_TYPES)
    if "authorization_code" not in grant_types:
        raise OAuthRefused(_METADATA, "grant_types has to include authorization_code.")
    if "code" not in _strings(described, "response_types", ("code",)):
        raise OAuthRefused(_METADATA, "response_types has to include code.")
    return {
        "client_name": _name(described),
        "redirect_uris": list(dict.fromkeys(redirect_uris)),
        "token_endpoint_auth_method": method,
        "grant_types": [each for each in GRANT_TYPES if each in grant_types],
        "response_types": ["code"],
        "scope": "mcp",
    }


def _name(described: Mapping[str, JsonValue]) -> str:
    name = described.get("client_name") or "A program without a name"
    if not isinstance(name, str) or not name.isprintable() or len(name) > NAME_LENGTH:
        raise OAuthRefused(_METADATA, f"client_name has at most {NAME_LENGTH} visible characters.")
    return name.strip() or "A program without a name"


def _strings(described: Mapping[str, JsonValue], field: str, default: tuple[str, ...]) -> list[str]:
    value = described.get(field)
    if value is None:
        return list(default)
    if not isinstance(value, list) or len(value) > 50:
        raise OAuthRefused(_METADATA, f"{field} is a list of strings.")
    found = [each for each in value if isinstance(each, str)]
    if len(found) < len(value):
        raise OAuthRefused(_METADATA, f"{field} is a list of strings.")
    return found


def check_redirect_uri(uri: str) -> None:
    """Accept https, http on loopback, and schemes of installed programs."""
    if not 1 <= len(uri) <= REDIRECT_URI_LENGTH or not _ADDRESS.fullmatch(uri):
        raise _bad_address(f"has at most {REDIRECT_URI_LENGTH} characters of a URI, and no fragment")
    loopback = _LOOPBACK.fullmatch(uri)
    if loopback is not None:
        if loopback[2] is not None and not 1 <= int(loopback[2]) <= 65535:
            raise _bad_address("has a port from 1 to 65535")
        return
    scheme = uri.partition(":")[0]
    if scheme == "https":
        _check_https(uri)
        return
    private = _PRIVATE.fullmatch(uri)
    if private is None or private[1] in _NEVER:
        raise _bad_address("is https, http on 127.0.0.1, [::1] or localhost, or a scheme of an installed program")


def _check_https(uri: str) -> None:
    try:
        parts = urlsplit(uri)
        host, _, port = parts.netloc.rpartition(":") if parts.port is not None else (parts.netloc, "", "")
    except ValueError:
        raise _bad_address("has a host and a port") from None
    if not _HOST.fullmatch(host) or (port and not port.isdigit()):
        raise _bad_address("has a host, and no user name")


def _bad_address(rule: str) -> OAuthRefused:
    return OAuthRefused("invalid_redirect_uri", f"A redirect URI {rule}.")


def _portless(uri: str) -> str | None:
    match = _LOOPBACK.fullmatch(uri)
    if match is None or (match[2] is not None and not 1 <= int(match[2]) <= 65535):
        return None
    return match[1] + match[3]


def is_loopback(uri: str) -> bool:
    return _LOOPBACK.fullmatch(uri) is not None
