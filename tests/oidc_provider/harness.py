"""What tests need to sign in by the provider: its process, and a browser."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.oidc_provider.application import CLIENT_ID, CLIENT_SECRET, ISSUER_PATH
from tools.runtime.settings_oidc import OidcSetting

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class ProviderProcess:
    """A running provider."""

    address: str

    @property
    def issuer(self) -> str:
        """Its issuer."""
        return self.address + ISSUER_PATH

    def behave(self, **behaviour: Any) -> None:
        """Tell it what to do from now on; nothing is what it should do."""
        httpx2.post(f"{self.address}/behave", json=behaviour).raise_for_status()

    def seen(self) -> dict[str, int]:
        """How often each place was asked since then."""
        return dict(httpx2.get(f"{self.address}/seen").json())

    def oidc(self, name: str = "acme", **provider: Any) -> dict[str, Any]:
        """Its entry in ENGRAIN_OIDC."""
        return {
            "name": name,
            "issuer": self.issuer,
            "client_id": CLIENT_ID,
            "client_secret_env": "ACME_SECRET",
            "organization_slug": "acme",
            **provider,
        }

    def codehost(self) -> dict[str, str]:
        """Settings of a server that takes it for its code host."""
        place = f"{self.address}/code"
        return {
            "codehost_client_id": CLIENT_ID,
            "codehost_client_secret": CLIENT_SECRET,
            "codehost_authorize_url": f"{place}/authorize",
            "codehost_token_url": f"{place}/token",
            "codehost_api_url": f"{place}/api",
        }


SECRETS = {"ACME_SECRET": CLIENT_SECRET}


@contextmanager
def provider_process() -> Iterator[ProviderProcess]:
    """Run the provider until the block ends."""
    command = [sys.executable, "-m", "tests.oidc_provider"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, "the provider did not start"
            yield ProviderProcess(address)
        finally:
            process.kill()


@dataclass(frozen=True)
class Browser:
    """Somebody's browser, at one server."""

    client: httpx2.AsyncClient
    base: str

    async def get(self, url: str, **options: Any) -> httpx2.Response:
        """Follow a link."""
        return await self.client.get(url if url.startswith("http") else self.base + url, **options)

    async def to_provider(self, path: str, **query: str) -> str:
        """Begin to sign in, and say yes at the provider; return where it sends the browser."""
        begun = await self.get(path, params=query)
        assert begun.status_code == 302, begun.text
        asked = await self.get(begun.headers["location"])
        assert asked.status_code == 302, asked.text
        return str(asked.headers["location"])

    async def sign_in(self, path: str = "/api/auth/oidc/acme/login", **query: str) -> httpx2.Response:
        """Sign in; return the last answer, which is not followed."""
        return await self.get(await self.to_provider(path, **query))

    async def me(self) -> httpx2.Response:
        """Ask who is signed in."""
        return await self.get("/api/auth/me")


def set_cookies(answer: httpx2.Response) -> dict[str, str]:
    """The Set-Cookie headers by name of cookie."""
    return {line.partition("=")[0]: line for line in answer.headers.get_list("set-cookie")}


def oidc_setting(*providers: dict[str, Any], secrets: dict[str, str] = SECRETS, **more: Any) -> OidcSetting:
    """Make the setting from its JSON, as a server does."""
    import json

    from tools.runtime.settings_oidc import read_oidc

    return read_oidc(json.dumps({"providers": providers, **more}), secrets)
