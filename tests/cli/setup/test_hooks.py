"""Hooks of Claude Code and Codex: they bring what is known, offer to keep more, and never break a session."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.local.server import serving, stop
from cli.setup.command import HERE
from tests.cli.client.conftest import Shell, place, server
from tools.runtime.version import VERSION

__all__ = ["place", "server"]


@pytest.fixture
def nowhere(tmp_path: Path) -> Shell:
    return Shell(tmp_path, {"ENGRAIN_URL": "http://127.0.0.1:9", "ENGRAIN_TOKEN": "x", "TMPDIR": str(tmp_path)})


def said(shell: Shell, name: str, event: dict[str, Any] | str) -> str:
    code, text = shell.run("hook", name, typed=event if isinstance(event, str) else json.dumps(event))
    assert code == 0, text
    return text


def context(text: str, event: str) -> str:
    output = json.loads(text)["hookSpecificOutput"]
    assert output["hookEventName"] == event
    return str(output["additionalContext"])


@pytest.mark.slow
def test_a_session_starts_with_the_pack_of_the_project_of_its_folder(
    place: tuple[Shell, httpx2.Client], tmp_path: Path
) -> None:
    shell, http = place
    folder = tmp_path / "checkout"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", "git@example.org:us/Ferry.git"], check=True)
    event = {"session_id": "s", "cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup"}
    assert said(shell, "session-start", event) == "", "nothing is known"
    keep = {"params": {"sync": "true"}, "url": "/api/entities"}
    for name in ("Ferry", "Bus"):
        project = {"name": name, "entity_type": "project", "content": f"The {name} app."}
        http.post(json=project, **keep).raise_for_status()
        decision = {
            "name": f"Work on the {name}",
            "entity_type": "decision",
            "content": "Ferry work. " * 900,
            "metadata": {"project_id": name},
        }
        http.post(json=decision, **keep).raise_for_status()
    deadline = time.monotonic() + 60
    while not (text := said(shell, "session-start", event)):
        assert time.monotonic() < deadline, "a busy machine may reach the time limit, but not each time"
    pack = context(text, "SessionStart")
    assert ("Work on the Ferry" in pack, "Work on the Bus" in pack, len(pack) < 4 * 1600) == (True, False, True)


def test_reflection_is_offered_once_a_session_and_never_in_a_loop(nowhere: Shell, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    event = {"session_id": "a", "transcript_path": str(transcript), "stop_hook_active": False}
    transcript.write_text("{}\n" * 3)
    assert said(nowhere, "stop", event) == "", "nothing happened yet"
    transcript.write_text("{}\n" * 15_000)
    assert said(nowhere, "stop", {**event, "stop_hook_active": True}) == ""
    assert "`reflect`" in context(said(nowhere, "stop", event), "Stop")
    assert said(nowhere, "stop", event) == ""
    assert said(nowhere, "stop", {**event, "session_id": "../b"}) != ""
    transcript.write_text('{"name": "mcp__engrain__reflect"}\n' + "{}\n" * 15_000)
    assert said(nowhere, "stop", {**event, "session_id": "c"}) == "", "it was done already"
    codex, event["session_id"] = tmp_path / "rollout-d.jsonl", "d"
    for text in ("{}\n" * 15_000, '{"server":"engrain","tool":"reflect"}\n' + "{}\n" * 30_000, "{}\n" * 30_000):
        codex.write_text(text)
        answer = said(nowhere, "stop", {**event, "transcript_path": str(codex)})
        assert (answer != "") == (text == "{}\n" * 30_000)
    assert (json.loads(answer)["decision"], "`reflect`" in json.loads(answer)["reason"]) == ("block", True)
    assert "ids of the Engrain records" in said(nowhere, "pre-compact", {"trigger": "auto"})


def test_a_hook_says_nothing_when_it_cannot(nowhere: Shell, tmp_path: Path) -> None:
    event = {"session_id": "s", "cwd": str(tmp_path / "gone"), "transcript_path": "/nowhere"}
    for name, typed in (("session-start", json.dumps(event)), ("stop", "{broken"), ("stop", "[]"), ("nonsense", "{}")):
        assert said(nowhere, name, typed) == ""
    with nowhere.start("hook", "stop") as waiting:  # for input that never comes
        assert waiting.wait(timeout=60) == 0


def test_the_first_session_of_a_day_starts_the_server(tmp_path: Path) -> None:
    shell, began = Shell(tmp_path, {"ENGRAIN_DATA_DIR": "d", "ENGRAIN_EMBEDDING_PROVIDER": "none"}), time.monotonic()
    assert said(shell, "session-start", {"cwd": str(tmp_path)}) == "", "nothing is known"
    try:
        while serving(tmp_path / "d") is None:
            assert time.monotonic() - began < 60
    finally:
        stop(tmp_path / "d")


def test_the_plugin_is_of_this_version_and_starts_the_same(tmp_path: Path) -> None:
    plugin = HERE / "plugin"
    assert json.loads((plugin / ".claude-plugin/plugin.json").read_text())["version"] == VERSION.split("+")[0]
    server = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["engrain"]
    assert server == {"type": "stdio", "command": "engrain", "args": ["mcp"]}
