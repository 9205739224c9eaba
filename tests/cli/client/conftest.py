"""A real server process, and a shell in which people type commands."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.client.credentials import CredentialFile
from tools.runtime.launch import ServerProcess, server_process

SECRET = "x" * 40
ENVIRON = {"ENGRAIN_EMBEDDING_PROVIDER": "none", "ENGRAIN_RATE_LIMIT_ENABLED": "false", "ENGRAIN_JWT_SECRET": SECRET}
PASSWORD = "correct horse battery"
COMMAND = [sys.executable, "-P", "-c", "from cli.main import app; app()"]
_UNWANTED = ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "BROWSER")


@dataclass
class Shell:
    home: Path
    environ: dict[str, str] = field(default_factory=dict)
    starter: tuple[str, ...] = ()

    @property
    def file(self) -> CredentialFile:
        return CredentialFile(self.home / "config" / "engrain")

    def start(self, *words: str, **environ: str) -> "subprocess.Popen[str]":
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("ENGRAIN_") and not name.lower().endswith("_proxy") and name not in _UNWANTED
        }
        own = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"), "COLUMNS": "200"}
        return subprocess.Popen(
            [*self.starter, *COMMAND, *words],
            env={**inherited, **own, **self.environ, **environ},
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, typed: str = "", **environ: str) -> tuple[int, str]:
        with self.start(*words, **environ) as process:
            return rest_of(process, typed)


def rest_of(process: "subprocess.Popen[str]", typed: str = "") -> tuple[int, str]:
    said, _ = process.communicate(typed, timeout=60)
    assert "Traceback" not in said, said
    return process.returncode, said


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server_process(tmp_path_factory.mktemp("served"), environ=ENVIRON) as running:
        yield running


@pytest.fixture(scope="module")
def http(server: ServerProcess) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def ada(http: httpx2.Client) -> dict[str, Any]:
    return signed_up(http, "ada")


def signed_up(http: httpx2.Client, name: str) -> dict[str, Any]:
    body = {"email": f"{name}@example.org", "password": PASSWORD, "name": name.capitalize()}
    answer = http.post("/api/auth/local/signup", json=body)
    assert answer.status_code == 201, answer.text
    http.cookies.clear()
    return dict(answer.json())


def bearer(signed: dict[str, Any]) -> dict[str, str]:
    return {"Authorization": f"Bearer {signed['access_token']}"}


@pytest.fixture
def place(tmp_path: Path, server: ServerProcess) -> Iterator[tuple[Shell, httpx2.Client]]:
    """A shell of somebody who is logged in, and a client with the same rights."""
    with httpx2.Client(base_url=server.address, trust_env=False, timeout=30) as http:
        ada = signed_up(http, tmp_path.name)
        http.headers.update(bearer(ada))
        yield Shell(tmp_path, {"ENGRAIN_URL": server.address, "ENGRAIN_TOKEN": ada["access_token"]}), http
