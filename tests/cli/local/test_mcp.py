"""`engrain mcp` as a coding agent starts it: a process that speaks lines of JSON, over a server that it starts."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from cli.client.failure import CommandFailed, NotLoggedIn
from cli.local.proxy import Proxy
from cli.local.server import alone, running, serving, stop
from stores.folder import holder

COMMAND = [sys.executable, "-P", "-c", "from cli.entry import main; main()", "mcp"]
GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@dataclass
class Home:
    root: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAIN_")}
        own = {"HOME": str(self.root), "XDG_CONFIG_HOME": str(self.root / "config"), "ENGRAIN_DATA_DIR": str(self.data)}
        return {**kept, **own, "ENGRAIN_EMBEDDING_PROVIDER": "none", **self.environ}

    def run(self, *words: str) -> tuple[int, str]:
        done = subprocess.run([*COMMAND[:-1], *words], env=self.variables, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def pid(self) -> int:
        who = holder(self.data)
        assert who is not None
        return who.pid


@dataclass
class Agent:
    process: "subprocess.Popen[str]"
    last_id: int = 0

    def send(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}})
        for line in self.process.stdout:
            if (answer := json.loads(line)).get("id") == self.last_id:
                return dict(answer)
        raise AssertionError("the proxy ended")

    def greet(self) -> dict[str, Any]:
        answer = self.ask("initialize", GREETING)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return dict(answer["result"])

    def tool(self, name: str, /, **arguments: object) -> dict[str, Any]:
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert "result" in answer, answer
        assert not answer["result"].get("isError"), answer
        return dict(answer["result"])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    stop(home.data)


@pytest.fixture
def start(home: Home) -> Iterator[Callable[..., Agent]]:
    with ExitStack() as started:

        def begin(folder: Path | None = None) -> Agent:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            process = subprocess.Popen(COMMAND, cwd=folder or home.root, env=home.variables, **pipes)
            started.enter_context(process)
            started.callback(process.kill)
            return Agent(process)

        yield begin


def repository(folder: Path, remote: str) -> Path:
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "remote", "add", "origin", remote], cwd=folder, check=True)
    return folder


def test_an_agent_needs_no_server_no_login_and_no_project(home: Home, start: Callable[..., Agent]) -> None:
    folder = repository(home.root / "rocket", "git@example.org:acme/rocket.git")
    # Files of the working folder that are called like ours.
    (folder / "tools").mkdir()
    for name in ("tools/__init__.py", "auth.py", "stores.py"):
        (folder / name).write_text("raise SystemExit(9)")
    (folder / ".env").write_text("ENGRAIN_HOST=nowhere.invalid\n")
    agent = start(folder)

    greeting = agent.greet()

    assert 'project "rocket"' in greeting["instructions"]
    assert {"search", "remember"} <= {tool["name"] for tool in agent.ask("tools/list")["result"]["tools"]}
    agent.tool("remember", name="Key", content="The spare key hangs behind the boiler.", project="rocket")
    assert "behind the boiler" in agent.tool("search", query="spare key", project="rocket")["content"][0]["text"]
    assert [path for path in home.data.rglob("*") if path.stat().st_mode & 0o077] == []


def test_an_answer_in_events_keeps_its_separators(home: Home, start: Callable[..., Agent]) -> None:
    agent = start()
    agent.greet()
    agent.tool("remember", name="Key", content="Behind the boiler.\u2028Left.\x85Red.")
    params = {"name": "search", "arguments": {"query": "boiler"}, "_meta": {"progressToken": 1}}
    found = agent.ask("tools/call", params)["result"]
    assert "Behind the boiler.\u2028Left.\x85Red." in json.dumps(found, ensure_ascii=False)


def test_calls_go_on_when_the_server_was_killed(home: Home, start: Callable[..., Agent]) -> None:
    agent = start()
    agent.greet()
    agent.tool("remember", name="Key", content="The spare key hangs behind the boiler.")
    before = home.pid()
    os.kill(before, signal.SIGKILL)

    found = agent.tool("get_entity", entity_id=agent_key(agent))
    assert "behind the boiler" in found["content"][0]["text"]
    assert home.pid() != before


def test_all_calls_that_are_open_when_the_server_is_killed_are_answered(
    home: Home, start: Callable[..., Agent]
) -> None:
    agent = start()
    agent.greet()
    for number in range(100, 112):
        params = {"name": "remember", "arguments": {"name": f"Note {number}", "content": f"Kept by call {number}."}}
        agent.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    os.kill(home.pid(), signal.SIGKILL)
    answers = [json.loads(agent.process.stdout.readline()) for _ in range(12)]

    assert {each["id"] for each in answers} == {*range(100, 112)}
    assert not [each for each in answers if each.get("result", {"isError": True}).get("isError")]
    stats = agent.tool("explore", mode="list", types=["episode"], limit=50)
    assert len(stats["structuredContent"]["entities"]) == 12


def agent_key(agent: Agent) -> str:
    hits = agent.tool("search", query="spare key")["structuredContent"]["results"]
    return str(hits[0]["id"])


def test_the_proxy_ends_with_its_client_and_leaves_nothing(home: Home, start: Callable[..., Agent]) -> None:
    script = f"import subprocess, sys; subprocess.run({COMMAND!r}, stdin=sys.stdin)"
    client = subprocess.Popen(
        [sys.executable, "-c", script], env=home.variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    agent = Agent(client)
    agent.greet()
    children = Path(f"/proc/{client.pid}/task/{client.pid}/children")
    if not children.exists():
        pytest.skip("this system does not list the children of a process")
    proxy = int(children.read_text().split()[0])

    client.kill()
    client.communicate()

    assert until(lambda: not Path(f"/proc/{proxy}").exists())
    assert serving(home.data) is not None  # The memory stays for the next one.


def test_a_server_that_nobody_uses_ends(home: Home, start: Callable[..., Agent]) -> None:
    home.environ = {"ENGRAIN_IDLE_EXIT_S": "1"}
    agent = start()
    agent.greet()
    pid = home.pid()
    assert until(lambda: serving(home.data) is None)
    assert until(lambda: not Path(f"/proc/{pid}").exists())  # The proxy that started it has waited for it.
    agent.tool("remember", name="Key", content="It starts again for the next call.")


def test_errors_are_answers_that_name_the_way_out(home: Home, start: Callable[..., Agent]) -> None:
    home.data.write_text("a file where the folder should be")
    agent = start()
    answer = agent.ask("initialize", GREETING)
    agent.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert "ENGRAIN_DATA_DIR" in answer["error"]["message"]
    assert agent.process.poll() is None
    agent.process.stdin.write("no json\n")
    agent.process.stdin.flush()
    assert json.loads(agent.process.stdout.readline())["error"]["code"] == -32700
    agent.process.stdin.write("[" * 100_000 + "\n")
    agent.process.stdin.flush()
    assert json.loads(agent.process.stdout.readline())["error"]["code"] == -32700
    home.data.unlink()
    answer = agent.ask("ping", [1])  # type: ignore[arg-type]
    assert "ended the connection" not in answer["error"]["message"]


def test_a_proxy_ends_with_its_client_while_the_server_says_nothing(home: Home, start: Callable[..., Agent]) -> None:
    start().greet()
    agent, pid = start(), home.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        agent.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING})
        agent.process.communicate(timeout=60)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_silent_server_is_named(home: Home, start: Callable[..., Agent], monkeypatch: pytest.MonkeyPatch) -> None:
    start().greet()
    monkeypatch.setattr("cli.client.server.ANSWER_TIMEOUT_S", 0.5)
    monkeypatch.setattr("cli.local.proxy.PAUSES_S", (600,))  # Before it asks again.
    output, message = BytesIO(), {"id": 1, "method": "initialize", "params": GREETING}
    os.kill(pid := home.pid(), signal.SIGSTOP)
    try:
        Proxy(home.variables, None, output).answer(message, json.dumps(message).encode(), None)  # type: ignore[arg-type]
    finally:
        os.kill(pid, signal.SIGCONT)
    assert f"kill -9 {pid}" in json.loads(output.getvalue())["error"]["message"]


def test_repositories_of_one_name_are_two_projects(home: Home, start: Callable[..., Agent]) -> None:
    ways = [("git@work:a/api.git", "api"), ("https://x:secret@h.org/b/api", "b/api"), ("https://h.org/A/api/", "api")]
    for number, (remote, name) in enumerate(ways):
        agent = start(repository(home.root / str(number), remote))
        assert f'the project "{name}"' in agent.greet()["instructions"]
    assert '"repository_url": "https://h.org/b/api"' in home.run("project", "show", "b/api", "--json")[1]


def test_the_proxy_loads_neither_the_sdk_nor_an_engine() -> None:
    script = "import sys, cli.local.proxy as _; print({'mcp', 'tantivy', 'lancedb', 'sqlalchemy'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "set()\n"


def test_an_abandoned_lock_is_no_server(home: Home) -> None:
    home.data.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        address = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        (home.data / "lock").write_text(json.dumps({"pid": os.getpid(), "address": address}))
        assert (serving(home.data), stop(home.data)) == (None, None)


def test_a_start_that_hangs_does_not_keep_others_waiting(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.local.server.STOP_TIMEOUT_S", 0.1)
    monkeypatch.setattr("cli.local.server.START_TIMEOUT_S", 0.1)
    with alone(home.data), pytest.raises(CommandFailed, match="Another command has been starting"):
        alone(home.data)


def test_a_key_that_cannot_be_read_is_named(home: Home, start: Callable[..., Agent]) -> None:
    start().greet()
    (home.data / "local-key").write_text("")
    with pytest.raises(NotLoggedIn, match="holds no key"):
        running(home.data)


def test_a_server_stays_once_it_was_asked_to(home: Home, start: Callable[..., Agent]) -> None:
    home.environ = {"ENGRAIN_IDLE_EXIT_S": "1"}
    assert [home.run(each)[0] for each in ("status", "logs", "stop")] == [4, 1, 0]
    start().greet()
    assert home.run("up")[0] == 0
    time.sleep(3)
    assert json.loads(home.run("status", "--json")[1])["pid"] == home.pid()
    assert "POST" in home.run("logs")[1]
    assert home.run("stop")[1].startswith("Stopped the server")


@pytest.mark.slow
def test_twenty_agents_that_start_in_the_same_second_share_one_server(home: Home, start: Callable[..., Agent]) -> None:
    folder = repository(home.root / "rocket", "https://example.org/acme/rocket")
    agents = [start(folder) for _ in range(20)]
    for agent in agents:
        agent.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": GREETING})
    for agent in agents:
        assert "result" in json.loads(agent.process.stdout.readline())
    for number, agent in enumerate(agents):
        agent.tool("remember", name=f"Note {number}", content=f"Agent {number} was here.", project="rocket")

    kept = agents[0].tool("explore", mode="list", types=["project"])

    assert len(kept["structuredContent"]["entities"]) == 1
    for number, agent in enumerate(reversed(agents)):
        assert f"Agent {number} was" in agent.tool("search", query=f"Agent {number} was here")["content"][0]["text"]


def until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False
