"""Everything by which one can sign in besides a password."""

from collections.abc import Mapping
from dataclasses import dataclass

from auth.external.addresses import Destinations
from auth.external.attempts import Attempts
from auth.external.codehost import CodeHost
from auth.external.oidc import OidcClient
from auth.external.outbound import Outbound


@dataclass(frozen=True, slots=True)
class Providers:
    """The providers of one server, and what their sign-ins share."""

    codehost: CodeHost | None
    oidc: Mapping[str, OidcClient]
    """By name."""
    attempts: Attempts
    destinations: Destinations
    outbound: Outbound

    def load(self) -> None:
        """Load what the first sign-in would wait for, where there is a provider. Blocks."""
        if self.codehost is not None or self.oidc:
            self.outbound.load()
