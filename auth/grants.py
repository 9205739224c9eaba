"""OAuth 2.1 grants of MCP clients: authorization codes and tokens."""

import base64
import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from pydantic import JsonValue

from auth.origin import NOWHERE, Origin
from auth.policy import principal_of
from auth.principal import Principal, Scope
from auth.tokens import Tokens, new_token, token_hash
from stores.errors import AuthenticationRequired, InvalidRequest
from stores.ledger import AuditDraft, AuthorizationCode, Grant, Ledger, OAuthClient, TokenPair
from stores.records import JsonObject


class OAuthRefused(InvalidRequest):
    """400 with an error code of OAuth (RFC 6749, 7591, 8707); 401 for `invalid_client`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


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


CODE_LIFETIME = timedelta(minutes=2)
GRANT_LIFETIME = timedelta(days=365)
SCOPE: Scope = "mcp"

_ACCESS, _REFRESH, _CODE = "eng_at_", "eng_rt_", "eng_ac_"
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_INVALID = "invalid_grant"


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    client_id: str
    redirect_uri: str
    redirect_uri_explicit: bool
    code_challenge: str
    """PKCE, method S256."""
    resource: str
    state: str | None = None


Form = Mapping[str, str]
"""Fields of a request to the token endpoint; empty ones are left out."""


@dataclass(frozen=True, slots=True)
class Issued:
    """New tokens in plain text: only hashes are stored."""

    access_token: str
    refresh_token: str | None
    expires_in: int
    """Seconds until the access token expires."""
    grant: Grant


@dataclass(frozen=True, slots=True)
class ClientGrants:
    """MCP clients and their grants. Every method blocks."""

    ledger: Ledger
    tokens: Tokens

    def register(self, described: Mapping[str, JsonValue]) -> tuple[OAuthClient, str | None]:
        metadata = checked_metadata(described)
        is_public = metadata["token_endpoint_auth_method"] == "none"  # noqa: S105 - a word of the protocol
        secret = None if is_public else new_token()
        now = self.tokens.clock()
        stored = OAuthClient("mcp_" + secrets.token_urlsafe(18), secret and secret[1], metadata, now, now)
        self.ledger.grants.add_client(stored)
        return stored, secret and secret[0]

    def client(self, client_id: str) -> OAuthClient | None:
        return self.ledger.grants.client(client_id) if _ID.fullmatch(client_id) else None

    def authenticate_client(self, client_id: str, secret: str | None) -> OAuthClient:
        """Return the client; a public client has no secret."""
        client = self.client(client_id)
        expected = client.secret_hash if client is not None else None
        proven = secret is None if expected is None else hmac.compare_digest(token_hash(secret or ""), expected)
        if client is None or not proven:
            raise OAuthRefused(
                "invalid_client", "The client does not exist, or its secret is not right. Register it again."
            )
        return client

    def allow(self, asked: AuthorizationRequest, user_id: str, organization_id: str, audit: AuditDraft) -> str:
        code = _CODE + secrets.token_urlsafe(32)
        expires_at = self.tokens.clock() + CODE_LIFETIME
        asked_for = {name: value for name, value in asdict(asked).items() if name != "state"}
        allowed = AuthorizationCode(
            user_id=user_id, organization_id=organization_id, scopes=(SCOPE,), expires_at=expires_at, **asked_for
        )
        self.ledger.grants.add_code(token_hash(code), allowed, audit)
        return code

    def redeem(self, client: OAuthClient, given: Form, origin: Origin = NOWHERE) -> Issued:
        """Exchange a code for the first tokens. A repeated code ends the grant."""
        hashed, verifier = token_hash(required(given, "code")), required(given, "code_verifier")
        redirect_uri = given.get("redirect_uri")
        code = self.ledger.grants.code(hashed)
        pair, texts = self._pair(client)
        if code is None:
            # Redeemed all the same: that ends the grant of a spent code.
            self.ledger.grants.redeem_code(hashed, str(uuid.uuid4()), pair, request=origin.described())
        if code is None or code.client_id != client.id:
            raise OAuthRefused(_INVALID, "The code was used before, has expired, or does not exist.")
        if redirect_uri is not None and redirect_uri != code.redirect_uri:
            raise OAuthRefused(_INVALID, "redirect_uri is not the one of the authorization request.")
        if redirect_uri is None and code.redirect_uri_explicit:
            raise OAuthRefused(_INVALID, "redirect_uri is missing; the authorization request named it.")
        if not _proves(verifier, code.code_challenge):
            raise OAuthRefused(_INVALID, "code_verifier does not match the code_challenge.")
        _require_resource(given.get("resource"), code.resource)
        self._require_member(code.user_id, code.organization_id)
        grant = self.ledger.grants.redeem_code(hashed, str(uuid.uuid4()), pair, request=origin.described())
        return self._issued(client, grant, texts)

    def refresh(self, client: OAuthClient, given: Form, origin: Origin = NOWHERE) -> Issued:
        """Exchange a refresh token for a new pair: within `REFRESH_GRACE` the same one. Later repeats end the grant."""
        token = required(given, "refresh_token")
        hashed = token_hash(token)
        grant = self.ledger.grants.refreshable(hashed)
        if grant is None or grant.client_id != client.id or not client.refreshes:
            raise OAuthRefused(_INVALID, "The refresh token was used before, has expired, or was revoked.")
        if not set(given.get("scope", "").split()) <= set(grant.scopes):
            raise OAuthRefused("invalid_scope", f"The scopes of the grant are: {' '.join(grant.scopes)}.")
        _require_resource(given.get("resource"), grant.resource)
        self._require_member(grant.user_id, grant.organization_id)
        pair, texts = self._pair(client, grant.created_at, token)
        rotated = self.ledger.grants.rotate(hashed, client.id, pair, request=origin.described())
        return self._issued(client, rotated, texts)

    def revoke(self, client: OAuthClient, token: str, origin: Origin = NOWHERE) -> bool:
        """End the grant of a token; return False if there was none."""
        return self.ledger.grants.revoke_token(token_hash(token), client.id, request=origin.described())

    def authenticate(self, token: str) -> tuple[Principal, float]:
        """Return the caller of a token, and its expiry in seconds since 1970."""
        found = self.ledger.grants.granted(token_hash(token))
        caller = found and self.ledger.people.caller(found.grant.user_id, found.grant.organization_id)
        if not found or not caller:
            raise AuthenticationRequired("The token is not valid.", remediation="Refresh it, or authorize again.")
        principal = replace(
            principal_of(*caller),
            scopes=frozenset({SCOPE}) if SCOPE in found.scopes else frozenset(),
            grant_id=found.grant.id,
            audience=found.grant.resource or "",
        )
        ends = [found.expires_at, found.grant.expires_at, *([] if principal.until is None else [principal.until])]
        return principal, min(ends).timestamp()

    def _require_member(self, user_id: str, organization_id: str) -> None:
        if self.ledger.people.identity(user_id, organization_id, None) is None:
            raise OAuthRefused(_INVALID, "The user who granted this is no longer a member of the organization.")

    def _pair(
        self, client: OAuthClient, allowed_at: datetime | None = None, predecessor: str | None = None
    ) -> tuple[TokenPair, tuple[str, str]]:
        access, refresh = (kind + self._random(kind, predecessor) for kind in (_ACCESS, _REFRESH))
        now, lifetime = self.tokens.clock(), self.tokens.access_lifetime
        until = now + (self.tokens.refresh_lifetime if client.refreshes else lifetime)
        until = min(until, (allowed_at or now) + GRANT_LIFETIME)
        pair = TokenPair(token_hash(access), now + lifetime, token_hash(refresh), until, (SCOPE,))
        return pair, (access, refresh)

    def _random(self, kind: str, predecessor: str | None) -> str:
        if predecessor is None:
            return secrets.token_urlsafe(32)
        # Only hashes are stored: a successor that can be told again is derived.
        return _base64(hmac.digest(self.tokens.secret.encode(), f"{kind}{predecessor}".encode(), "sha256"))

    def _issued(self, client: OAuthClient, grant: Grant | str, texts: tuple[str, str]) -> Issued:
        if isinstance(grant, str):
            raise OAuthRefused(_INVALID, "It was used before, has expired, or was revoked.")
        access, refresh = texts
        lifetime_s = int(self.tokens.access_lifetime.total_seconds())
        return Issued(access, refresh if client.refreshes else None, lifetime_s, grant)


def required(given: Form, name: str) -> str:
    if name not in given:
        raise OAuthRefused("invalid_request", f"{name} is missing.")
    return given[name]


def is_client_token(credential: str) -> bool:
    return credential.startswith(_ACCESS)


def same_resource(one: str, other: str) -> bool:
    """Compare two resource identifiers (RFC 8707), ignoring a trailing slash."""
    return one.rstrip("/") == other.rstrip("/")


def _require_resource(asked: str | None, granted: str | None) -> None:
    if asked is not None and not same_resource(asked, granted or ""):
        raise OAuthRefused("invalid_target", f"The grant is for {granted}.")


def _proves(verifier: str, challenge: str) -> bool:
    if not _VERIFIER.fullmatch(verifier):
        return False
    return hmac.compare_digest(_base64(hashlib.sha256(verifier.encode()).digest()), challenge)


def _base64(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
