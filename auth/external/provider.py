"""Configuration of OpenID Connect providers."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OidcProvider:
    name: str
    label: str
    issuer: str
    client_id: str
    client_secret: str | None = field(repr=False)
    organization_slug: str
    scopes: tuple[str, ...]
    role_claim: str
    role_prefix: str
    silent_refresh: bool
    session_minutes: int
