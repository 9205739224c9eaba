"""Agents over `engrain mcp` and commands from the shell, on one data folder."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from evals.bench.measurement import Figure, Measurement, Target
from evals.machine import resident_mb, spread
from stores.errors import Unavailable
from stores.folder import holder
from stores.records import JsonObject
from tools.runtime.settings import PREFIX

AGENTS = 20
SECONDS = 600
EVERY_S = 2.0
COMMANDS = 10
_ENGRAIN = (sys.executable, "-P", "-c", "from cli.entry import main; main()")
_HELLO: JsonObject = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"},
}  # fmt: skip


def measure_agents(measurement: Measurement, folder: Path) -> Iterator[Figure]:
    """Time the first call with and without a server, a command, and twenty agents that remember and search."""
    measurement.say(f"{AGENTS} agents over `engrain mcp` …")
    folder.mkdir()
    environ = {
        **os.environ,
        f"{PREFIX}DATA_DIR": str(folder / "data"),
        "HOME": str(folder),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    started, joined = _first_call(environ), [_first_call(environ) for _ in range(measurement.times(COMMANDS))]
    bare = spread([_took([sys.executable, "-c", "pass"], environ) for _ in joined])
    searched = spread([_took([*_ENGRAIN, "search", "who reviews deploys"], environ) for _ in joined])
    found = spread(joined)
    floor = f"a bare interpreter takes {1000 * bare.p50:.0f} ms"
    yield Figure("engrain mcp, first call that starts a server", "s", started, 1, target=Target(3, 2))
    for name, times, target in (
        ("engrain mcp, first call", found, Target(300, 200)), ("engrain search", searched, Target(400, 300)),
    ):  # fmt: skip
        yield Figure(name, "ms", 1000 * times.p50, times.n, 1000 * times.p95, target, note=floor)
    yield _measure_together(measurement, environ)
    _took([*_ENGRAIN, "stop"], environ)


def _measure_together(measurement: Measurement, environ: Mapping[str, str]) -> Figure:
    seconds = SECONDS / 20 if measurement.quick else SECONDS
    who = holder(Path(environ[f"{PREFIX}DATA_DIR"]))
    agents = [_Agent(environ, place * EVERY_S / AGENTS) for place in range(AGENTS)]
    with ThreadPoolExecutor(AGENTS) as pool:
        list(pool.map(lambda agent: agent.work(seconds / 10), agents))
        before_mb = 0.0 if who is None else resident_mb(who.pid)[0] or 0.0
        times = [each for some in pool.map(lambda agent: agent.work(seconds), agents) for each in some]
    lost = sum(not agent.finds_all() for agent in agents)
    for agent in agents:
        agent.close()
    grown_mb = 0.0 if who is None else (resident_mb(who.pid)[0] or 0.0) - before_mb
    found = spread(times)
    note = f"{AGENTS} agents, {seconds:.0f} s after a warm-up; who lost one: {lost}; server grew {grown_mb:.0f} MB"
    target = Target(400, 250)
    return Figure("call of one of many agents, p95", "ms", 1000 * found.p95, found.n, target=target, note=note)


def _took(command: list[str], environ: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=environ, capture_output=True, check=True)  # noqa: S603 - our own interpreter
    return time.perf_counter() - start


def _first_call(environ: Mapping[str, str]) -> float:
    start = time.perf_counter()
    agent = _Agent(environ)
    took_s = time.perf_counter() - start
    agent.close()
    return took_s


@dataclass
class _Agent:
    environ: Mapping[str, str]
    waits_s: float = 0
    """Agents do not work in step."""
    kept: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ids = count(1)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [*_ENGRAIN, "mcp"], env=self.environ, stdin=pipe, stdout=pipe, text=True
        )
        self.ask("initialize", _HELLO)
        self.ask("tools/list", {})

    def work(self, seconds: float) -> list[float]:
        """Remember and search every two seconds; return the time of each call in seconds."""
        first, times = time.monotonic() + self.waits_s, []
        while (late_s := time.monotonic() - first) < seconds:
            # After a slow answer an agent keeps its own beat, so that they do not fall into step.
            time.sleep(max(-late_s, -late_s % EVERY_S))
            name = f"Note {self.process.pid} {len(self.kept)}"
            content = f"{name}: deploys freeze at {len(self.kept)} o'clock."
            calls: list[tuple[str, JsonObject]] = [
                ("remember", {"name": name, "content": content}),
                ("search", {"query": f"When do deploys freeze in {name}?"}),
            ]
            for tool, arguments in calls:
                start = time.perf_counter()
                self.tool(tool, arguments)
                times.append(time.perf_counter() - start)
            self.kept.append(name)
        return times

    def finds_all(self) -> bool:
        """Return whether searches find a sample of the stored records."""
        some = self.kept[:: max(1, len(self.kept) // 5)]
        return all(name in self.tool("search", {"query": name, "limit": 50}) for name in some)

    def tool(self, name: str, arguments: JsonObject) -> str:
        result = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        if not isinstance(result, dict) or result.get("isError"):
            raise Unavailable(f"An agent's call of {name} failed: {result}")
        return json.dumps(result)

    def ask(self, method: str, params: JsonObject) -> JsonObject:
        assert self.process.stdin is not None  # noqa: S101 - both are pipes
        assert self.process.stdout is not None  # noqa: S101 - both are pipes
        body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        self.process.stdin.write(json.dumps(body) + "\n")
        self.process.stdin.flush()
        answer: JsonObject = json.loads(self.process.stdout.readline() or "{}")
        if "result" not in answer:
            raise Unavailable(f"An agent got no answer to {method}: {answer}")
        return answer

    def close(self) -> None:
        self.process.communicate()
