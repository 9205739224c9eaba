"""The MCP SDK's own OAuth client logs a person in at a real server, through its browser, and stays logged in."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.people import PASSWORD
from tests.rest_bridge.oauth.flow import bearer, chosen, hidden_field
from tools.runtime.launch import server_process

pytestmark = pytest.mark.anyio

EMAIL = "ann@example.org"
CALLBACK = "http://localhost:43117/callback"


@dataclass
class Storage:
    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Browser:
    http: httpx2.AsyncClient
    visited: list[str] = field(default_factory=list)
    ended_at: str = ""

    async def go(self, address: str) -> None:
        page = await self.get(address)
        if page.status_code == 303:
            page = await self.get(urljoin(address, page.headers["location"]))
            form = {"email": EMAIL, "password": PASSWORD, "next": hidden_field(page, "next")}
            signed_in = await self.http.post(urljoin(address, "/login"), data=form)
            page = await self.get(urljoin(address, signed_in.headers["location"]))
        form = {"ticket": hidden_field(page, "ticket"), "organization": chosen(page), "decision": "allow"}
        answer = await self.http.post(urljoin(address, "/authorize"), data=form)
        assert answer.status_code == 303, answer.text
        self.ended_at = answer.headers["location"]

    async def get(self, address: str) -> httpx2.Response:
        self.visited.append(urlsplit(address).path)
        return await self.http.get(address)

    async def callback(self) -> AuthorizationCodeResult:
        assert self.ended_at.startswith(CALLBACK + "?")
        answer = {name: values[0] for name, values in parse_qs(urlsplit(self.ended_at).query).items()}
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    environ = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}
    with server_process(tmp_path / "data", environ=environ) as server:
        async with httpx2.AsyncClient(base_url=server.address, timeout=30) as http:
            account = {"email": EMAIL, "password": PASSWORD, "name": "Ann"}
            assert (await http.post("/api/auth/local/signup", json=account)).status_code == 201
        yield server.address


async def test_a_client_logs_a_person_in_works_refreshes_and_is_disconnected(address: str) -> None:
    storage = Storage()
    described = OAuthClientMetadata(
        redirect_uris=[AnyUrl(CALLBACK)], client_name="SDK", token_endpoint_auth_method=None
    )
    async with httpx2.AsyncClient(timeout=60) as person:
        browser = Browser(person)
        provider = OAuthClientProvider(f"{address}/mcp", described, storage, browser.go, browser.callback)
        async with (
            httpx2.AsyncClient(auth=provider, timeout=60) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as engrain,
        ):
            assert "search" in {tool.name for tool in (await engrain.list_tools()).tools}
            added = await engrain.call_tool("add", {"title": "Rule", "content": "Tabs.", "entity_type": "rule"})
            assert not added.is_error
            assert browser.visited == ["/authorize", "/login", "/authorize"]
            first = storage.tokens
            assert first is not None
            assert first.scope == "mcp"

            provider.context.token_expiry_time = 1
            assert not (await engrain.call_tool("search", {"query": "tabs"})).is_error
            assert storage.tokens is not None
            assert storage.tokens.access_token != first.access_token
            assert storage.tokens.refresh_token != first.refresh_token
            assert len(browser.visited) == 3

            [grant] = (await person.get(f"{address}/api/users/me/grants")).json()["grants"]
            assert grant["client_name"] == "SDK"
            assert (await person.delete(f"{address}/api/users/me/grants/{grant['id']}")).status_code == 200
            refused = await person.post(f"{address}/mcp", json={}, headers=bearer(storage.tokens.access_token))
            assert refused.status_code == 401

            # The client asks the person again, who is still signed in.
            assert not (await engrain.call_tool("search", {"query": "tabs"})).is_error
            assert browser.visited[3:] == ["/authorize"]
