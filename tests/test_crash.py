"""A server that is killed while many write loses nothing that it acknowledged."""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from tests.stores.indexer.samples import until
from tools.runtime.launch import ServerProcess, server_process

WRITERS = 4
ENVIRON = {"ENGRAIN_RATE_LIMIT_ENABLED": "false"}

pytestmark = pytest.mark.slow


def client(server: ServerProcess, token: str = "") -> httpx2.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.Client(base_url=server.address, headers=headers, timeout=30)


def sign_up(server: ServerProcess) -> str:
    body = {"email": "crash@example.org", "password": "long enough", "name": "Crash"}
    with client(server) as http:
        return str(http.post("/api/auth/local/signup", json=body).raise_for_status().json()["access_token"])


def write_until_killed(server: ServerProcess, token: str, writer: int, acknowledged: dict[str, str]) -> None:
    with client(server, token) as http:
        for number in range(10_000):
            marker = f"marker{writer}x{number}"
            body = {"name": f"Note {marker}", "content": f"The word {marker} is here only.", "entity_type": "note"}
            try:
                answer = http.post("/api/entities", json=body, params={"sync": number % 5 == 0})
            except httpx2.TransportError:
                return
            if answer.status_code == 201:
                acknowledged[answer.json()["id"]] = marker


def killed_while_writing(data: Path, acknowledged: dict[str, str]) -> None:
    with server_process(data, environ=ENVIRON) as server:
        token = sign_up(server)
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as writers:
            running = [writers.submit(write_until_killed, server, token, n, acknowledged) for n in range(WRITERS)]
            until(lambda: len(acknowledged) >= 120, 60)
            os.kill(server.process.pid, signal.SIGKILL)
            for future in running:
                future.result(30)


def indexes_are_level(server: ServerProcess) -> bool:
    with client(server) as http:
        found = http.get("/api/health/ready").json()["indexes"]
    return all(index["pending"] == 0 and index["state"] == "ready" for index in found) and bool(found)


def level_client(server: ServerProcess) -> httpx2.Client:
    account = {"email": "crash@example.org", "password": "long enough"}
    with client(server) as http:
        token = http.post("/api/auth/local/login", json=account).raise_for_status().json()["access_token"]
    until(lambda: indexes_are_level(server), 120)
    return client(server, token)


def test_every_acknowledged_write_survives_a_kill_and_is_searchable(tmp_path: Path) -> None:
    data, acknowledged = tmp_path / "data", dict[str, str]()
    killed_while_writing(data, acknowledged)
    assert len(acknowledged) >= 120
    with server_process(data, environ=ENVIRON) as server, level_client(server) as http:
        for entity_id, marker in acknowledged.items():
            assert http.get(f"/api/entities/{entity_id}").status_code == 200, marker
            best = http.post("/api/search", json={"query": marker, "limit": 1}).json()["results"]
            assert [hit["id"] for hit in best] == [entity_id], marker
    checked = subprocess.run(
        [sys.executable, "-P", "-c", "from cli.main import app; app()", "check", "--data-dir", str(data)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "every index equals the ledger" in checked.stdout


def test_a_citation_that_was_answered_counts_after_a_kill(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with server_process(data, environ=ENVIRON) as server:
        with client(server, sign_up(server)) as http:
            note = http.post("/api/entities", json={"name": "Heron"}, params={"sync": True}).raise_for_status().json()
            assert http.post("/api/search", json={"query": "heron"}).raise_for_status().json()["total"] == 1
            body = {"cited_ids": [note["id"]], "session_key": "run-1"}
            cited = http.post("/api/memory/cite", json=body).raise_for_status().json()
        server.kill()
    assert cited["counted_ids"] == [note["id"]]
    with server_process(data, environ=ENVIRON) as server, level_client(server) as http:
        again = http.post("/api/memory/cite", json=body).raise_for_status().json()
        found = http.post("/api/search", json={"query": "heron", "include_retrieval_diagnostics": True})
    assert again["replayed_ids"] == [note["id"]]
    details = found.raise_for_status().json()["filters"]["graph_retrieval"]["source_details"]
    assert details[note["id"]]["usage_share"] > 0


@pytest.mark.anyio
async def test_the_session_of_an_mcp_client_outlives_a_kill(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with contextlib.ExitStack() as servers:
        server = servers.enter_context(server_process(data, environ=ENVIRON))
        headers = {"Authorization": f"Bearer {sign_up(server)}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
            McpClient(streamable_http_client(f"{server.address}/mcp", http_client=http), mode="legacy") as mcp,
        ):
            added = await mcp.call_tool("add", {"title": "Rule", "content": "Tabs.", "entity_type": "rule"})
            assert not added.is_error
            server.kill()
            servers.enter_context(server_process(data, environ=ENVIRON, port=int(server.address.rpartition(":")[2])))
            for _ in range(2):
                assert "search" in {tool.name for tool in (await mcp.list_tools()).tools}
                assert "Tabs" in str(await mcp.call_tool("search", {"query": "tabs"}))
