"""What the operator says of an OpenID Connect provider."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """A provider as the operator configured it."""

    name: str
    label: str
    issuer: str
    client_id: str
    client_secret: str | None = field(repr=False)
    """None where the environment lacks it."""
    organization_slug: str
    """The one organization that it is bound to."""
    scopes: tuple[str, ...]
    role_claim: str
    role_prefix: str
    silent_refresh: bool
    session_minutes: int
