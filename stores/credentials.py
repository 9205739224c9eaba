"""OAuth clients with their codes and grants, and device logins, as plain data."""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from stores.records import JsonObject


@dataclass(frozen=True, slots=True)
class OAuthClient:
    id: str
    secret_hash: str | None
    """None for a public client."""
    metadata: JsonObject
    """As registered (RFC 7591)."""
    created_at: datetime
    last_used_at: datetime

    @property
    def name(self) -> str:
        return str(self.metadata["client_name"])

    @property
    def redirect_uris(self) -> list[str]:
        return cast("list[str]", self.metadata["redirect_uris"])

    @property
    def refreshes(self) -> bool:
        return "refresh_token" in cast("list[str]", self.metadata["grant_types"])


@dataclass(frozen=True, slots=True)
class AuthorizationCode:
    """Consent of a user, to be exchanged for tokens."""

    client_id: str
    user_id: str
    organization_id: str
    redirect_uri: str
    redirect_uri_explicit: bool
    """The client named it and must name it again."""
    code_challenge: str
    """PKCE, method S256."""
    resource: str | None
    scopes: tuple[str, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Grant:
    """Consent of a user to a client: a family of tokens, the latest pair valid."""

    id: str
    client_id: str
    user_id: str
    organization_id: str
    resource: str | None
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    """Same as the refresh token's."""
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DeviceLogin:
    device_hash: str
    user_code_hash: str
    details: JsonObject
    """Shown to the person who decides: program name, address."""
    interval_s: int
    expires_at: datetime
    user_id: str | None = None
    """The user who approved."""
    organization_id: str | None = None
