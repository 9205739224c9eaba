"""REST and MCP clients of the demo."""

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from stores.errors import Unavailable
from tools.runtime.launch import server_process
from tools.runtime.settings import PREFIX

TIMEOUT_S = 120.0


class DemoFailed(Exception):
    """A sentence for the user."""


@dataclass(frozen=True, slots=True)
class Answer:
    body: dict[str, Any]
    ms: float
    text: str = ""
    """The text for the model, over MCP."""


class RestClient:
    """Calls REST routes; a refusal ends the demo."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    @classmethod
    @asynccontextmanager
    async def connected(cls, address: str) -> AsyncIterator["RestClient"]:
        """Open a connection pool without proxies."""
        async with httpx2.AsyncClient(base_url=address, trust_env=False, timeout=TIMEOUT_S) as http:
            yield cls(http)

    def sign_in(self, token: str) -> None:
        self._http.headers["Authorization"] = f"Bearer {token}"

    async def get(self, path: str) -> Answer:
        return await self._send("GET", path, None)

    async def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        return await self._send("POST", path, body)

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> Answer:
        start = time.perf_counter()
        try:
            response = await self._http.request(method, path, json=body)
        except httpx2.TransportError as error:
            raise DemoFailed(f"{method} {path} got no answer: {error or type(error).__name__}.") from None
        ms = (time.perf_counter() - start) * 1000
        if response.is_error:
            raise DemoFailed(f"{method} {path} answered {response.status_code}: {_sentence(response)}")
        return Answer(response.json(), ms)


def _sentence(response: httpx2.Response) -> str:
    try:
        refusal = response.json()
        return f"{refusal['message']} {refusal['remediation']}"
    except (ValueError, KeyError, TypeError):
        return response.text[:300]


class AgentClient:
    def __init__(self, client: Client) -> None:
        self._client = client

    @classmethod
    @asynccontextmanager
    async def connected(cls, address: str, token: str) -> AsyncIterator["AgentClient"]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=TIMEOUT_S) as http,
            Client(
                streamable_http_client(f"{address}/mcp", http_client=http), read_timeout_seconds=TIMEOUT_S
            ) as client,
        ):
            yield cls(client)

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        start = time.perf_counter()
        try:
            result = await self._client.call_tool(tool, dict(arguments))
        except MCPError as error:
            raise DemoFailed(f"The MCP tool {tool} failed: {error}.") from None
        ms = (time.perf_counter() - start) * 1000
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        if result.is_error:
            raise DemoFailed(f"The MCP tool {tool} answered: {text}")
        return Answer(dict(result.structured_content or {}), ms, text)


@dataclass(frozen=True, slots=True)
class RunningServer:
    address: str
    pid: int
    start_s: float


@contextmanager
def running_server(folder: Path, environ: Mapping[str, str]) -> Iterator[RunningServer]:
    """Run `engrain serve` on a folder and a free port until the block ends.

    Raises:
        DemoFailed: It stopped or was not ready in time.
    """
    started = time.monotonic()
    try:
        with server_process(folder, environ=without_settings(environ)) as server:
            yield RunningServer(server.address, server.process.pid, time.monotonic() - started)
    except Unavailable as error:
        raise DemoFailed(error.message) from None


def without_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Blank the user's settings: the demo must not write into a real database."""
    blank = {name: "" for name in environ if name.startswith(PREFIX)}
    return blank | {f"{PREFIX}LOG_LEVEL": "warning"}
