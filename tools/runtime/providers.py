"""The sign-in providers of a server, made from its settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from auth.external.addresses import Destinations
from auth.external.attempts import Attempts
from auth.external.codehost import CodeHost, CodeHostSite
from auth.external.oidc import OidcClient
from auth.external.outbound import load
from stores.ledger import Ledger
from tools.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Providers:
    codehost: CodeHost | None
    oidc: Mapping[str, OidcClient]
    attempts: Attempts
    destinations: Destinations

    def load(self) -> None:
        """Load the libraries of the first sign-in, if there is a provider. Blocks."""
        if self.codehost is not None or self.oidc:
            load()


def build_providers(settings: Settings, ledger: Ledger, clock: Callable[[], datetime]) -> Providers:
    configured = settings.oidc.resolved() if settings.oidc else ()
    site = _site(settings)
    return Providers(
        codehost=CodeHost(site) if site else None,
        oidc={provider.name: OidcClient(provider, clock) for provider in configured},
        attempts=Attempts(ledger, clock),
        destinations=Destinations(settings.frontend_url),
    )


def _site(settings: Settings) -> CodeHostSite | None:
    values = {each.name: getattr(settings, f"codehost_{each.name}") for each in fields(CodeHostSite)}
    return CodeHostSite(**values) if all(values.values()) else None
