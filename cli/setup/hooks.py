"""Hooks of Claude Code: each prints what it has to say within the time limit, else nothing, and never fails."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from cli.client import open_client
from cli.client.failure import Refused
from cli.client.server import JsonObject

LIMIT_S = 1.6
"""Of the 2 seconds that a client waits, without those for the start of Python."""
BUDGET_TOKENS = 1500
SUBSTANTIAL_BYTES = 30_000
"""Size of a session's transcript with something in it to reflect on: a few turns with tool calls."""
KEPT_S = 7 * 86_400

COMPACT = (
    "Keep in the summary, in full: decisions with their reasons, causes of errors, workarounds, open tasks, and the ids "
    "of Engrain records that were used. After compaction, offer to store them with Engrain's `reflect`."
)
REFLECT = (
    "If this session brought a decision, the cause of an error, a workaround or a convention that the next one needs, "
    "store it now with Engrain's `reflect` (content: your notes in a few plain sentences; persist: true). "
    "If it did not, say nothing about this and stop. This is asked once a session."
)


def run_hook(environ: Mapping[str, str], name: str) -> None:
    """Run a hook on standard input, and print its answer. It raises nothing, and ends the process at the time limit."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    # Nothing that goes wrong with Engrain may break the session.
    with suppress(Exception):
        if said := HOOKS[name](environ, json.loads(sys.stdin.read())):
            sys.stdout.write(said + "\n")
            sys.stdout.flush()
    signal.setitimer(signal.ITIMER_REAL, 0)


def _session_start(environ: Mapping[str, str], event: JsonObject) -> str:
    project = _project(event["cwd"])
    pack = _pack(environ, project)
    return _context("SessionStart", pack["markdown"]) if pack["total_items"] else ""


def _pack(environ: Mapping[str, str], project: str) -> JsonObject:
    body: JsonObject = {
        "goal": f"Work on {project}", "intent": "general", "layer": "wake", "markdown_token_budget": BUDGET_TOKENS,
        "agent_id": "claude-code",
    }  # fmt: skip
    with open_client(environ) as client:
        try:
            return client.call("POST", "/api/context/pack", {**body, "project": project})
        except Refused as refused:
            if refused.status != 404:
                raise
            return client.call("POST", "/api/context/pack", body)


def _project(folder: str) -> str:
    command = ["git", "-C", folder, "config", "--get", "remote.origin.url"]
    with suppress(OSError, subprocess.SubprocessError):
        found = subprocess.run(command, capture_output=True, text=True, timeout=0.5, check=False)  # noqa: S603 - fixed
        if name := found.stdout.strip().rstrip("/").removesuffix(".git").replace(":", "/").rsplit("/", 1)[-1]:
            return name
    return Path(folder).name


def _pre_compact(_environ: Mapping[str, str], _event: JsonObject) -> str:
    return COMPACT


def _stop(_environ: Mapping[str, str], event: JsonObject) -> str:
    if event.get("stop_hook_active"):
        return ""
    transcript = Path(event["transcript_path"]).read_bytes()
    if len(transcript) < SUBSTANTIAL_BYTES or b"engrain__reflect" in transcript or not _is_first(event["session_id"]):
        return ""
    return _context("Stop", REFLECT)


def _is_first(session: str) -> bool:
    import platformdirs  # noqa: PLC0415 - the other hooks do without

    folder = Path(platformdirs.user_state_dir("engrain", appauthor=False)) / "hooks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.stat().st_mtime < time.time() - KEPT_S:
            old.unlink(missing_ok=True)
    try:
        (folder / f"stop-{Path(session).name}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _context(event: str, text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


HOOKS: dict[str, Callable[[Mapping[str, str], JsonObject], str]] = {
    "session-start": _session_start, "pre-compact": _pre_compact, "stop": _stop,
}  # fmt: skip
