"""Clients that are installed list and call the tools after `engrain setup`; fixed answers stand in for their model."""

import json
import os
import re
import shutil
import subprocess
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template

import pytest

from cli.local.server import stop
from tests.cli.local.test_mcp import COMMAND
from tests.docs.test_agents_page import FLAGS

REPLIES = tomllib.loads(Path(__file__).with_name("replies.toml").read_text())
CALLS = {"remember": {"name": "Freeze", "content": "Deploys freeze on Fridays."}, "search": {"query": "deploys"}}
CLIENTS = tomllib.loads(Path(__file__).with_name("clients.toml").read_text())


class Model(BaseHTTPRequestHandler):
    asked: list[str]
    prefix: str

    def do_POST(self) -> None:
        self.asked.append(asked := self.rfile.read(int(self.headers["Content-Length"])).decode())
        reply = next((reply for end, reply in REPLIES.items() if self.path.split("?")[0].endswith(end)), {})
        name = next((name for name in CALLS if f"call-{name}" not in asked), "")
        text = reply["head"] + "\n" + reply["call" if name and '"tools":' in asked else "end"] if reply else "{}"
        given = json.dumps(CALLS.get(name))
        words = {"id": f"call-{name}", "name": self.prefix + name, "arguments": json.dumps(given), "object": given}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if reply else "application/json")
        self.end_headers()
        self.wfile.write((Template(text).substitute(words).lstrip() + "\n").encode())


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_calls_the_tools_after_setup(client: str, tmp_path: Path) -> None:
    row = CLIENTS[client]
    if shutil.which(row["command"][0]) is None:
        pytest.skip(f"{row['command'][0]} is not installed")
    model = ThreadingHTTPServer(("127.0.0.1", 0), type("_", (Model,), {"asked": [], "prefix": row["prefix"]}))
    threading.Thread(target=model.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{model.server_port}"
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    environ |= {"ENGRAIN_DATA_DIR": str(tmp_path / "d"), "ENGRAIN_EMBEDDING_PROVIDER": "none"}
    environ |= dict.fromkeys(FLAGS, "true") | {key: word.replace("$URL", url) for key, word in row["environ"].items()}
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')

    def said(*words: str) -> str:
        options = {"cwd": tmp_path, "env": environ, "stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        return subprocess.run(words, **options, stdout=subprocess.PIPE, text=True, timeout=120).stdout

    try:
        assert "is set up" in said(*COMMAND[:-1], "setup", client, "--yes")
        said(*COMMAND[:-1], "up")
        assert re.search(row["listed"], output := said(row["command"][0], "mcp", "list")), output
        output = said(*(word.replace("$URL", url) for word in row["command"]))
        answers = [body for body in model.RequestHandlerClass.asked if "call-search" in body]
        assert answers, output
        assert [each for each in row["shown"] if each not in output + answers[0]] == [], output
        assert len(set(kept := re.findall(r"episode_\w{12}", answers[0]))) == 1 < len(kept), answers[0]
    finally:
        stop(tmp_path / "d")
        model.shutdown()
        model.server_close()
