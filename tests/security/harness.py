"""A real server with the whole catalogue, and one question that every surface understands: am I let in?"""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx2
from argon2 import PasswordHasher
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from auth.passwords import Passwords
from stores.records import Role
from tests.people import Person, person
from tests.rest_bridge.harness import serving
from tests.rest_bridge.test_mcp_mount import answer_in, call
from tools.app import App
from tools.catalogue import OPERATIONS

SOON = 15
SURFACES = ("REST", "MCP", "WebSocket")
AGENT = {"Accept": "application/json", "Content-Type": "application/json"}
COOKIE = "engrain_access_token"
REFRESH_COOKIE = "engrain_refresh_token"

Headers = Iterable[tuple[str, str]]


class CountingHasher(PasswordHasher):
    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.runs = 0

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        self.runs += 1
        return super().hash(password, salt=salt)

    def verify(self, hash: str | bytes, password: str | bytes) -> Any:
        self.runs += 1
        return super().verify(hash, password)


@dataclass(frozen=True, slots=True)
class Heard:
    admitted: bool
    status: int
    """Of HTTP, or the code with which a socket was closed."""
    text: str


@dataclass(frozen=True, slots=True)
class World:
    app: App
    port: int
    http: httpx2.AsyncClient
    """A client that keeps no cookies between tests; clear them after use."""
    hasher: CountingHasher

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def ask(self, surface: str, headers: Headers = ()) -> Heard:
        if surface == "WebSocket":
            return await self._listen(headers)
        if surface == "REST":
            answer = await self.http.get("/api/auth/me", headers=list(headers))
            return Heard(answer.status_code == 200, answer.status_code, answer.text)
        answer = await self.http.post(
            "/mcp", json=call("explore", limit=1), headers=[*AGENT.items(), *headers], follow_redirects=False
        )
        admitted = answer.status_code == 200 and not answer_in(answer)["result"].get("isError")
        return Heard(admitted, answer.status_code, answer.text)

    async def _listen(self, headers: Headers) -> Heard:
        try:
            async with self.socket(headers) as socket:
                await socket.send('{"type": "ping"}')
                with anyio.fail_after(SOON):
                    return Heard(json.loads(await socket.recv())["event"] == "pong", 101, "")
        except ConnectionClosed as closed:
            received = closed.rcvd
            return Heard(False, received.code if received else 0, received.reason if received else "")
        except InvalidStatus as refused:
            return Heard(False, refused.response.status_code, (refused.response.body or b"").decode())

    @asynccontextmanager
    async def socket(self, headers: Headers) -> AsyncIterator[ClientConnection]:
        url = f"ws://127.0.0.1:{self.port}/api/ws"
        async with connect(url, additional_headers=list(headers), proxy=None, open_timeout=SOON) as socket:
            yield socket

    async def person(self, name: str, *, of: Person | None = None, role: Role = "owner") -> Person:
        return await person(self.app, name, of=of, role=role)

    async def post(self, path: str, body: object, token: str | None = None, **headers: str) -> httpx2.Response:
        return await self.send("POST", path, body, token, **headers)

    async def send(
        self, method: str, path: str, body: object = None, token: str | None = None, **headers: str
    ) -> httpx2.Response:
        given = {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        named = {name.replace("_", "-"): value for name, value in given.items()}
        answer = await self.http.request(method, path, json=body, headers=named)
        self.http.cookies.clear()
        return answer


@asynccontextmanager
async def world_of(app: App) -> AsyncIterator[World]:
    hasher = CountingHasher()
    app = replace(app, accounts=replace(app.accounts, passwords=Passwords(hasher)))
    async with (
        serving(app, OPERATIONS) as port,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=SOON) as http,
    ):
        yield World(app, port, http, hasher)


def bearer(token: str) -> list[tuple[str, str]]:
    return [("Authorization", f"Bearer {token}")]


def cookie(token: str) -> list[tuple[str, str]]:
    return [("Cookie", f"{COOKIE}={token}")]
