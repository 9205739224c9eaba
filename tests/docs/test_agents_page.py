"""The page on connecting agents has blocks that its clients read; those that are installed connect by them."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from tests.people import PASSWORD
from tools.runtime.launch import server_process

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "agents.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^## ([^\n]+)\n((?:(?!^## ).)*?)^```(json|toml|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTIONS = {client: rest for client, *rest in SECTION.findall(PAGE)}
PARSERS: dict[str, Any] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}

ADDRESS = "http://127.0.0.1:8420/mcp"
HTTP, HTTP_URL = {"type": "http", "url": ADDRESS}, {"httpUrl": ADDRESS}
CONTINUE = {"name": "engrain", "type": "streamable-http", "url": ADDRESS}
CN = "cn -p hello --config .continue/config.yaml"
CONNECTED = r"(?i)engrain.*[^s]connected"
CALLED = "method=POST .*route=/mcp status=200"
"""In the server's log, for clients that list servers without connecting."""
CLIENTS: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    "Claude Code": ("mcpServers", HTTP, "${ENGRAIN_TOKEN}", "claude mcp list", CONNECTED),
    "Codex": ("mcp_servers", {"url": ADDRESS}, "ENGRAIN_TOKEN", "codex app-server", '"serverInfo":{"name":"engrain"'),
    "Gemini CLI": ("mcpServers", HTTP_URL, "${ENGRAIN_TOKEN}", "gemini mcp list", CONNECTED),
    "opencode": ("mcp", HTTP | {"type": "remote"}, "{env:ENGRAIN_TOKEN}", "opencode mcp list", CONNECTED),
    "Qwen Code": ("mcpServers", HTTP_URL, "${ENGRAIN_TOKEN}", "qwen mcp list", CONNECTED),
    "Copilot CLI": ("mcpServers", HTTP | {"tools": ["*"]}, "${ENGRAIN_TOKEN}", "copilot -p hello", CALLED),
    "Continue": ("mcpServers", CONTINUE, "${{ secrets.ENGRAIN_TOKEN }}", CN, CALLED),
    "Cursor": ("mcpServers", {"url": ADDRESS}, "${env:ENGRAIN_TOKEN}", "", ""),
    "VS Code": ("servers", HTTP, "${input:engrain}", "", ""),
}
NO_MODEL = "models: [{name: x, provider: openai, model: x, apiBase: 'http://127.0.0.1:9', apiKey: x}]\n"
FLAGS = ("COPILOT_OFFLINE", "DISABLE_AUTOUPDATER", "GEMINI_CLI_TRUST_WORKSPACE", "OPENCODE_DISABLE_AUTOUPDATE")
ENVIRON = dict.fromkeys(FLAGS, "true") | {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:9", "COPILOT_MODEL": "x"}
TO_CODEX = b"""\
{"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}}
{"method": "initialized"}
{"id": 2, "method": "mcpServerStatus/list", "params": {}}
"""


@pytest.mark.parametrize("client", {**SECTIONS, **CLIENTS})
def test_a_block_has_the_fields_that_its_client_reads(client: str) -> None:
    key, fields, token, *_ = CLIENTS[client]
    language, text = SECTIONS[client][1:]
    servers = PARSERS[language](text)[key]
    server = servers[0] if language == "yaml" else servers["engrain"]
    headers = {"headers": {"Authorization": f"Bearer {token}"}}
    sent = {"toml": {"bearer_token_env_var": token}, "yaml": {"requestOptions": headers}}.get(language, headers)
    assert server == fields | sent
    assert set(re.findall(r"http://[^ \"]+/mcp", PAGE)) == {ADDRESS}


@pytest.mark.slow
@pytest.mark.parametrize("client", [client for client in CLIENTS if CLIENTS[client][3]])
def test_a_client_connects_by_its_block(client: str, tmp_path: Path) -> None:
    *_, command, expected = CLIENTS[client]
    if shutil.which(command.split()[0]) is None:
        pytest.skip(f"{command.split()[0]} is not installed")
    before, _, text = SECTIONS[client]
    file, said = tmp_path / re.findall(r"`~/(\S+)`", before)[0], tmp_path / "said"
    file.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as running:
        server = running.enter_context(server_process(tmp_path / "d", environ={"ENGRAIN_EMBEDDING_PROVIDER": "none"}))
        account = {"email": "ann@example.org", "password": PASSWORD, "name": "Ann"}
        token = httpx2.post(f"{server.address}/api/auth/local/signup", json=account).json()["access_token"]
        file.write_text(text.replace(ADDRESS, f"{server.address}/mcp") + (NO_MODEL if client == "Continue" else ""))
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ENGRAIN_TOKEN": token, **ENVIRON}
        out, options = running.enter_context(said.open("wb")), {"cwd": tmp_path, "env": environ, "process_group": 0}
        process = subprocess.Popen(command.split(), stdin=subprocess.PIPE, stdout=out, stderr=out, **options)
        running.enter_context(process)
        running.callback(os.killpg, process.pid, signal.SIGKILL)
        os.write(process.stdin.fileno(), TO_CODEX)
        deadline = time.monotonic() + 60
        while not re.search(expected, said.read_text() + server.log.read_text()):
            assert time.monotonic() < deadline, said.read_text()
            time.sleep(0.2)
