"""Health, readiness and the root."""

from dataclasses import replace

import httpx2
import pytest

from rest_bridge.application import build_asgi
from stores.errors import Unavailable
from tests.rest_bridge.harness import client_of
from tests.rest_bridge.notes import Notes
from tools.app import App
from tools.version import VERSION

pytestmark = pytest.mark.anyio


async def test_the_root_says_where_to_read_on(client: httpx2.AsyncClient) -> None:
    body = (await client.get("/api/")).json()
    assert body["name"] == "Engrain"
    assert body["version"] == VERSION
    assert body["docs"] == "/api/docs"
    assert body["websocket"] == "/api/ws"


async def test_health_needs_no_token(client: httpx2.AsyncClient) -> None:
    body = (await client.get("/api/health")).json()
    assert body["status"] == "healthy"
    assert body["version"] == VERSION


async def test_readiness_names_each_dependency_and_index(client: httpx2.AsyncClient) -> None:
    response = await client.get("/api/health/ready")
    body = response.json()
    assert response.status_code == 200
    assert body["status"] == "ready"
    assert {"name": "ledger", "ready": True}.items() <= body["dependencies"][0].items()
    assert {index["name"] for index in body["indexes"]} == {"lexical", "graph", "vectors"}
    assert all(index["pending"] == 0 for index in body["indexes"])


class Gone:
    """A ledger whose database has gone away."""

    def ping(self) -> None:
        raise Unavailable("The database does not answer.")


async def test_a_ledger_that_is_gone_is_not_ready(app: App) -> None:
    without = replace(app, ledger=Gone())
    async with client_of(build_asgi(without, Notes().operations())) as client:
        response = await client.get("/api/health/ready")
        assert response.status_code == 503
        assert response.json()["status"] == "not_ready"
        assert response.json()["dependencies"][0]["detail"] == "The database does not answer."
        assert (await client.get("/api/health")).status_code == 200
