"""What tests need to sign in by the provider: its process, and a browser."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.oidc_provider.application import CLIENT_ID, CLIENT_SECRET, ISSUER_PATH
from tools.runtime.settings_checks import OidcSetting, read_oidc

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Provider:
    address: str

    @property
    def issuer(self) -> str:
        return self.address + ISSUER_PATH

    def behave(self, **behaviour: Any) -> None:
        httpx2.post(f"{self.address}/behave", json=behaviour).raise_for_status()

    def seen(self) -> dict[str, int]:
        return dict(httpx2.get(f"{self.address}/seen").json())

    def oidc(self, name: str = "acme", **provider: Any) -> dict[str, Any]:
        return {
            "name": name, "issuer": self.issuer, "client_id": CLIENT_ID, "client_secret_env": "ACME_SECRET",
            "organization_slug": "acme", **provider,
        }  # fmt: skip

    def codehost(self) -> dict[str, str]:
        place = f"{self.address}/code"
        return {
            "codehost_client_id": CLIENT_ID, "codehost_client_secret": CLIENT_SECRET,
            "codehost_authorize_url": f"{place}/authorize", "codehost_token_url": f"{place}/token",
            "codehost_api_url": f"{place}/api",
        }  # fmt: skip


SECRETS = {"ACME_SECRET": CLIENT_SECRET}


@contextmanager
def provider_process() -> Iterator[Provider]:
    command = [sys.executable, "-m", "tests.oidc_provider"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, "the provider did not start"
            yield Provider(address)
        finally:
            process.kill()


@dataclass(frozen=True)
class Browser:
    client: httpx2.AsyncClient
    base: str

    async def get(self, url: str, **options: Any) -> httpx2.Response:
        return await self.client.get(url if url.startswith("http") else self.base + url, **options)

    async def to_provider(self, path: str, **query: str) -> str:
        begun = await self.get(path, params=query)
        assert begun.status_code == 302, begun.text
        asked = await self.get(begun.headers["location"])
        assert asked.status_code == 302, asked.text
        return str(asked.headers["location"])

    async def sign_in(self, path: str = "/api/auth/oidc/acme/login", **query: str) -> httpx2.Response:
        return await self.get(await self.to_provider(path, **query))

    async def me(self) -> httpx2.Response:
        return await self.get("/api/auth/me")


def set_cookies(answer: httpx2.Response) -> dict[str, str]:
    return {line.partition("=")[0]: line for line in answer.headers.get_list("set-cookie")}


def oidc_setting(*providers: dict[str, Any], secrets: dict[str, str] = SECRETS, **more: Any) -> OidcSetting:
    return read_oidc(json.dumps({"providers": providers, **more}), secrets)
