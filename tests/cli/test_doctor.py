"""The doctor finds each fault, says what to do, and fails only where something fails."""

import json
import shutil
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from cli.main import app
from stores.embedding.shipped import MODEL_FILE, SHA256
from stores.folder import DataFolder
from stores.ledger import Ledger

Found = dict[str, tuple[str, str]]


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, Found]]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def run(**environ: str) -> tuple[int, Found]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        given = {"ENGRAIN_PORT": port, "ENGRAIN_DATA_DIR": str(tmp_path / "data"), **environ}
        result = CliRunner().invoke(app, ["doctor", "--json"], env=given)
        found = json.loads(result.stdout)
        return result.exit_code, {
            each["check"]: (each["state"], f"{each['detail']} {each['advice']}") for each in found
        }

    return run


def test_nothing_is_wrong_with_a_new_machine(doctor: Callable[..., tuple[int, Found]], tmp_path: Path) -> None:
    code, found = doctor()
    assert (code, {state for state, _ in found.values()}) == (0, {"ok"}), found
    assert list(found) == ["version", "folder", "disk", "home", "lock", "port", "model"]
    assert not (tmp_path / "data").exists()
    lines = CliRunner().invoke(app, ["doctor", "--data-dir", str(tmp_path / "data")]).stdout.splitlines()
    assert lines[1] == f"ok   folder   {tmp_path / 'data'} will be made by the first start."


def test_each_fault_is_named_with_a_way_out(
    doctor: Callable[..., tuple[int, Found]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data").chmod(0o777)
    (tmp_path / "data" / "lock").write_text('{"pid": 4194305, "address": "http://127.0.0.1:1"}')
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=50 * 2**20))
    monkeypatch.setitem(SHA256, MODEL_FILE, "0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, found = doctor(
            ENGRAIN_PORT=str(taken.getsockname()[1]), XDG_CONFIG_HOME="/etc/passwd/x", ENGRAIN_DATADIR="x"
        )
    assert code == 1
    assert {name: state for name, (state, _) in found.items() if state != "ok"} == {
        "settings": "warn", "folder": "warn", "disk": "fail", "home": "warn", "lock": "warn", "port": "warn",
        "model": "fail",
    }  # fmt: skip
    said = "\n".join(text for _, text in found.values())
    ways = ("chmod 700", "Make room", "ENGRAIN_TOKEN", "4194305 was killed", "set ENGRAIN_PORT", "Install engrain")
    assert [each for each in ways if each not in said] == []
    assert doctor(ENGRAIN_DATA_DIR="/etc/passwd/x")[1]["folder"][0] == "fail"


def test_the_server_of_the_folder_is_asked(doctor: Callable[..., tuple[int, Found]], tmp_path: Path) -> None:
    embedder = {"name": "embedder", "ready": False, "detail": "x"}
    index = {"name": "graph", "state": "failed", "pending": 3, "refused": 0}
    ready = {"version": "0.0.1", "dependencies": [embedder], "indexes": [index]}

    class Hour(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(200)
            self.send_header("Date", formatdate(0, usegmt=True))
            self.end_headers()
            self.wfile.write(json.dumps(ready).encode())

        def log_message(self, *_: object) -> None: ...

    with closing(DataFolder.claim(tmp_path / "data")) as folder:
        assert doctor()[1]["lock"][0] == "warn", "no address yet"
        with HTTPServer(("127.0.0.1", 0), Hour) as server:
            folder.announce(f"http://127.0.0.1:{server.server_port}")
            Thread(target=server.handle_request).start()
            code, found = doctor()
        assert (code, {name: state for name, (state, _) in found.items() if state != "ok"}) == (
            1, {"version": "warn", "embedder": "warn", "index": "fail", "clock": "warn"},
        )  # fmt: skip
        code, found = doctor()
        assert (code, found["lock"][0], "run kill" in found["lock"][1]) == (1, "fail", True)


def test_the_configurations_of_clients_are_read(doctor: Callable[..., tuple[int, Found]], tmp_path: Path) -> None:
    configuration = tmp_path / "home/.gemini/settings.json"
    configuration.parent.mkdir(parents=True)
    assert CliRunner().invoke(app, ["setup", "gemini", "--yes"]).exit_code == 0
    assert doctor()[1]["client"] == ("ok", "gemini: set up. ")
    configuration.write_text("{}")
    assert "engrain setup gemini renews it" in doctor()[1]["client"][1]
    configuration.write_text("{")
    state, said = doctor()[1]["client"]
    assert (state, str(configuration) in said) == ("warn", True)


def test_a_ledger_that_no_server_would_take_is_named(doctor: Callable[..., tuple[int, Found]], tmp_path: Path) -> None:
    file = tmp_path / "data/ledger.sqlite"
    file.parent.mkdir(mode=0o700)
    with closing(Ledger.open(f"sqlite:///{file}")):
        assert doctor()[1]["ledger"][0] == "ok"
    with closing(sqlite3.connect(file)) as ledger, ledger:
        ledger.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "A newer Engrain wrote it" in doctor()[1]["ledger"][1]
    file.write_bytes(b"x" * 9_000)
    code, found = doctor()
    assert (code, found["ledger"][0], "Restore a backup" in found["ledger"][1]) == (1, "fail", True)
