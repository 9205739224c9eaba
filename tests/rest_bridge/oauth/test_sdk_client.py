"""The MCP SDK's own OAuth client logs a person in at a real server, through its browser, and stays logged in."""

import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
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
PREFIX = "/engrain"
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
            signed_in = await self.http.post(page.url, data=form)
            page = await self.get(urljoin(address, signed_in.headers["location"]))
        form = {"ticket": hidden_field(page, "ticket"), "organization": chosen(page), "decision": "allow"}
        answer = await self.http.post(page.url, data=form)
        assert answer.status_code == 303, answer.text
        self.ended_at = answer.headers["location"]

    async def get(self, address: str) -> httpx2.Response:
        self.visited.append(urlsplit(address).path.removeprefix(PREFIX))
        return await self.http.get(address)

    async def callback(self) -> AuthorizationCodeResult:
        assert self.ended_at.startswith(CALLBACK + "?")
        answer = {name: values[0] for name, values in parse_qs(urlsplit(self.ended_at).query).items()}
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])


@contextmanager
def nginx(folder: Path, port: int, upstream: str, *, removes_prefix: bool) -> Iterator[None]:
    """Serve an upstream below a prefix, and its discovery documents where the RFCs look for them."""
    if (program := shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")) is None:
        pytest.skip("nginx is not installed")
    header = "proxy_set_header Host $http_host;"
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors; events {{}} http {{"
        f"access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;"
        f"uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; server {{ listen 127.0.0.1:{port};"
        f"location {PREFIX}/ {{ proxy_pass {upstream}{'/' if removes_prefix else ''}; {header} }}"
        rf"location ~ ^/\.well-known/oauth-.*{PREFIX} {{ proxy_pass {upstream}; {header} }} }} }}"
    )
    process = subprocess.Popen([program, "-p", str(folder), "-c", "nginx.conf", "-e", str(folder / "errors")])
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture(params=["direct", "proxy", "proxy that removes the prefix"])
async def address(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address, environ = f"http://127.0.0.1:{port}{PREFIX}", {"ENGRAIN_EMBEDDING_PROVIDER": "none"}
    if request.param != "direct":
        environ["ENGRAIN_BASE_URL"] = address
    with ExitStack() as running:
        server = running.enter_context(server_process(tmp_path / "data", environ=environ))
        if request.param == "direct":
            address = server.address
        else:
            removes_prefix = "removes" in request.param
            running.enter_context(nginx(tmp_path, port, server.address, removes_prefix=removes_prefix))
        async with httpx2.AsyncClient(timeout=30) as http:
            account = {"email": EMAIL, "password": PASSWORD, "name": "Ann"}
            assert (await http.post(f"{address}/api/auth/local/signup", json=account)).status_code == 201
        yield address


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
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            answer = await person.post(f"{address}/mcp/", json=message, headers=bearer(first.access_token))
            assert answer.status_code == 200, "without a redirect"
            moved = await person.get(f"{address}/api/health/")
            assert urljoin(f"{address}/api/health/", moved.headers["location"]) == f"{address}/api/health"

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
