"""Hooks of Claude Code and Codex: each prints its text within the time limit, else nothing, and never fails."""

import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer

from cli.client import open_client
from cli.client.failure import NotFound
from cli.client.server import JsonObject
from cli.local.project import project_for

LIMIT_S = 1.5
"""The client waits 2 s, with the start of Python."""
TEXTS = Path(__file__).parent / "plugin/hooks"
PACK = {"intent": "general", "layer": "wake", "markdown_token_budget": 1500}
SUBSTANTIAL_BYTES, CODEX_BYTES = 30_000, 36_000
"""Size of a few turns and tool calls: less holds nothing to reflect on. Codex adds its instructions to a transcript."""
REFLECTED = re.compile(rb'engrain__reflect|"engrain","tool":"reflect"')


def hook(name: Annotated[str, typer.Argument(help="session-start, pre-compact or stop.")]) -> None:
    # It raises nothing, and ends for the client at the time limit.
    signal.signal(signal.SIGALRM, lambda *_: _leave())
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    said = ""
    # Nothing that goes wrong here may break the session.
    with suppress(Exception), redirect_stderr(StringIO()):
        said = HOOKS[name](json.loads(sys.stdin.read()))
    # Python lets go of the handler before it ends; then the alarm would kill it.
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout.write(said)


def _leave() -> None:
    """End the process, and let a child go on in the background: it may be starting the server."""
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(90)
    os.setsid()
    for stream in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)


def _session_start(event: JsonObject) -> str:
    with open_client(os.environ) as client:
        found = project_for(client, folder := Path(event["cwd"]))
        project = found.name if found else folder.name
        body: JsonObject = PACK | {
            "goal": f"Work on {project}",
            "agent_id": "codex" if _is_codex(event) else "claude-code",
        }
        try:
            pack = client.call("POST", "/api/context/pack", body | {"project": project})
        except NotFound:
            pack = client.call("POST", "/api/context/pack", body)
    return _context("SessionStart", pack["markdown"]) if pack["total_items"] else ""


def _stop(event: JsonObject) -> str:
    transcript, is_codex = Path(event["transcript_path"]).read_bytes(), _is_codex(event)
    least = SUBSTANTIAL_BYTES + CODEX_BYTES * is_codex
    if event.get("stop_hook_active") or len(transcript) < least or REFLECTED.search(transcript):
        return ""
    # The second time in a session it exists, and nothing is said.
    Path(tempfile.gettempdir(), f"engrain-stop-{Path(event['session_id']).name}").touch(0o600, exist_ok=False)
    text = (TEXTS / "reflect.txt").read_text()
    return json.dumps({"decision": "block", "reason": text}) if is_codex else _context("Stop", text)


def _is_codex(event: JsonObject) -> bool:
    return Path(event.get("transcript_path") or "").name.startswith("rollout-")


def _context(event: str, text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


HOOKS: dict[str, Callable[[JsonObject], str]] = {
    "session-start": _session_start,
    "pre-compact": lambda _: (TEXTS / "compact.txt").read_text(),
    "stop": _stop,
}
