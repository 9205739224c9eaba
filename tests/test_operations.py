"""What operators do and meet: a backup put back, the other graph engine, a log that cannot be written."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.stores.indexer.samples import until
from tests.test_crash import ENVIRON, client, indexes_are_level, sign_up
from tools.runtime.launch import ServerProcess, server_process

pytestmark = pytest.mark.slow


@contextmanager
def serving(data: Path, **environ: str) -> Iterator[tuple[ServerProcess, httpx2.Client]]:
    with server_process(data, environ=ENVIRON | environ) as server:
        body = {"email": "crash@example.org", "password": "long enough"}
        with client(server) as http:
            answer = http.post("/api/auth/local/login", json=body)
        token = answer.json()["access_token"] if answer.status_code == 200 else sign_up(server)
        with client(server, token) as http:
            yield server, http


def note(http: httpx2.Client, marker: str, **fields: object) -> str:
    body = {"name": f"Note {marker}", "content": f"The word {marker} is here.", "entity_type": "note", **fields}
    return str(http.post("/api/entities", json=body, params={"sync": True}).raise_for_status().json()["id"])


def found(http: httpx2.Client, query: str) -> list[str]:
    results = http.post("/api/search", json={"query": query, "limit": 50}).raise_for_status().json()["results"]
    return [hit["id"] for hit in results]


def check(data: Path, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from cli.main import app; app()", "check", "--data-dir", str(data)],
        env=os.environ | environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_backup_that_is_put_back_is_what_is_found(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.sqlite"
    with serving(data) as (_, http):
        kept, deleted = note(http, "alpha"), note(http, "bravo")
        with closing(sqlite3.connect(data / "ledger.sqlite")) as live, closing(sqlite3.connect(backup)) as copy:
            live.backup(copy)
        http.patch(f"/api/entities/{kept}", json={"name": "Renamed later"}, params={"sync": True}).raise_for_status()
        http.delete(f"/api/entities/{deleted}").raise_for_status()
        later = note(http, "charlie")
    for left in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (data / left).unlink(missing_ok=True)
    shutil.copy(backup, data / "ledger.sqlite")

    with serving(data) as (server, http):
        until(lambda: indexes_are_level(server), 120)
        assert http.get(f"/api/entities/{kept}").json()["name"] == "Note alpha"
        assert http.get(f"/api/entities/{later}").status_code == 404
        assert found(http, "bravo")[0] == deleted
        assert set(found(http, "note")) == {kept, deleted}
        new = note(http, "delta")
        assert found(http, "delta")[0] == new
    assert "every index equals the ledger" in check(data)


def explored(http: httpx2.Client, start: str) -> list[object]:
    said: list[object] = []
    for mode, depth in (("related", 1), ("traverse", 2), ("traverse", 3), ("dependencies", 3)):
        body = {"mode": mode, "entity_id": start, "depth": depth, "limit": 200}
        page = http.post("/api/search/explore", json=body).raise_for_status().json()
        keys = ("id", "relationship", "direction", "distance", "dependency")
        rows = sorted(tuple(str(each[key]) for key in keys) for each in page["entities"])
        said.append((mode, depth, rows, page["actual_total"], page["capped"]))
    return said


def fill(http: httpx2.Client) -> tuple[list[str], str]:
    ids: list[str] = []
    for place in range(60):
        links = [f"depends_on:{ids[place - 1]}", f"about:{ids[place // 2]}"] if ids else []
        body = {"name": f"Record {place}", "entity_type": "note", "related_to": links}
        made = http.post("/api/entities/bulk", json={"entities": [body]}).raise_for_status().json()["entities"][0]
        ids.append(made["id"])
    note(http, "later", related_to=[f"supersedes:{ids[20]}"])
    http.delete(f"/api/entities/{ids.pop(40)}").raise_for_status()
    return ids, ids[30]


def test_a_filled_organization_changes_its_graph_engine_and_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data) as (server, http):
        ids, start = fill(http)
        until(lambda: indexes_are_level(server), 120)
        before = explored(http, start)
        assert [len(each[2]) for each in before] != [0, 0, 0, 0]  # type: ignore[index]

    with serving(data, ENGRAIN_GRAPH_ENGINE="kuzu") as (server, http):
        until(lambda: indexes_are_level(server), 120)
        assert explored(http, start) == before
        if Path("/proc/self/maps").exists():
            libraries = Path(f"/proc/{server.process.pid}/maps").read_text()
            assert "kuzu" in libraries
            assert "ladybug" not in libraries
        added = note(http, "bravo", related_to=[f"depends_on:{start}"])
        related = http.get(f"/api/entities/{added}", params={"related_limit": 5}).json()["related"]
        assert [each["id"] for each in related] == [start]
        after = explored(http, start)
        assert added in str(after)
    assert "every index equals the ledger" in check(data, ENGRAIN_GRAPH_ENGINE="kuzu")

    with serving(data) as (server, http):
        until(lambda: indexes_are_level(server), 120)
        assert explored(http, start) == after
        assert added in found(http, "bravo")
        assert set(ids) <= {each["id"] for each in http.get("/api/entities?page_size=200").json()["entities"]}
    assert "every index equals the ledger" in check(data)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "server.log").symlink_to("/dev/full")
    with serving(data) as (_, http):
        assert found(http, "alpha") == []
        assert http.get("/api/entities/nothing").status_code == 404
        assert note(http, "alpha")
