"""What tests of the HTTP surface need: an application on a fresh data folder, people with tokens, a real server."""

import contextlib
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
from starlette.applications import Starlette

from rest_bridge.application import build_asgi
from rest_bridge.envelope import STATUSES
from rest_bridge.server import Server, configuration
from stores.records import Organization, Role, Session, User
from tests.ledgers import new_ledger
from tests.people import PASSWORD
from tools.app import App, open_app
from tools.frame.operation import Operation
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

BASE = "http://127.0.0.1:8420"
Client = httpx2.AsyncClient


@dataclass
class Clock:
    now: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Person:
    user_id: str
    organization_id: str
    session_id: str
    token: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def sign_up(app: App, role: Role = "owner") -> Person:
    now, user_id, organization_id = app.clock(), str(uuid.uuid4()), str(uuid.uuid4())
    user = User(user_id, f"{user_id}@example.com", "Ada", None, False, None, None, now)
    personal = Organization(str(uuid.uuid4()), "Ada's", f"u-{user_id}", True, now)
    app.ledger.people.create_account(user, personal)
    app.ledger.people.create_organization(Organization(organization_id, "Team", f"team-{user_id}", False, now))
    app.ledger.people.add_membership(user_id, organization_id, role)
    session = Session(str(uuid.uuid4()), user_id, organization_id, "r1", now, now + timedelta(days=1), None)
    app.ledger.people.create_session(session)
    token = app.accounts.tokens.access(session)
    return Person(user_id, organization_id, session.id, token)


def joined(app: App, owner: Person, role: Role) -> Person:
    somebody = sign_up(app)
    app.ledger.people.add_membership(somebody.user_id, owner.organization_id, role)
    token = app.accounts.switch(somebody.session_id, owner.organization_id).access_token
    return Person(somebody.user_id, owner.organization_id, somebody.session_id, token)


def settings_at(folder: Path, **overrides: Any) -> Settings:
    new_ledger(folder)
    return Settings(data_dir=folder, **{"embedding_provider": "none", **overrides})


@contextlib.asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings, logs=LogRing()) as app:
        yield app


@contextlib.asynccontextmanager
async def client_of(application: Starlette, **options: Any) -> AsyncIterator[Client]:
    async with application.router.lifespan_context(application):
        transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE, **options) as client:
            yield client


def bearer(signed: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {signed['access_token']}"}


async def log_in(client: Client, email: str, password: str = PASSWORD) -> httpx2.Response:
    answer = await client.post("/api/auth/local/login", json={"email": email, "password": password})
    client.cookies.clear()
    return answer


@contextlib.asynccontextmanager
async def listening(make: Callable[[Callable[[], object]], Server]) -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        started = anyio.Event()
        server = make(started.set)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: server.serve(sockets=[listener]))
            with anyio.fail_after(10):
                await started.wait()
            try:
                yield listener.getsockname()[1]
            finally:
                server.should_exit = True


@contextlib.asynccontextmanager
async def serving(app: App, operations: Iterable[Operation]) -> AsyncIterator[int]:
    application = build_asgi(app, operations)
    async with listening(lambda started: Server(configuration(application), started)) as port:
        yield port


IN_MESSAGE = ("oidc_", "signup_disabled", "local_auth_disabled", "private_scope_key_mismatch")
"""Specific words begin the message; `error` has the general code."""


def assert_envelope(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    body = response.json()
    if code.startswith(IN_MESSAGE):
        assert body["message"].partition(":")[0] == code, body
        code = next(kind.code for kind, given in STATUSES.items() if given == status)
    assert body["error"] == code, body
    assert set(body) - {"details"} == {"error", "message", "request_id", "remediation"}
    assert body["message"]
    assert body["remediation"]
    assert body["request_id"] == response.headers["x-request-id"]
    assert response.headers["x-engrain-version"]
    assert response.headers["content-type"] == "application/json"
    return dict(body)
