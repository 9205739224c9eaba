"""The memory verbs at a real server: on pipes, on a terminal, and in the folder of a project."""

import json
import subprocess
import sys
from dataclasses import replace
from threading import Event
from typing import Any

import httpx2
import pytest

from tests.cli.client.conftest import Shell, place, server
from tests.cli.client.test_server import talking

__all__ = ["place", "server"]

pytestmark = pytest.mark.slow
TERMINAL = (sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)")


@pytest.fixture
def shell(place: tuple[Shell, httpx2.Client]) -> Shell:
    return place[0]


def done(shell: Shell, *words: str, typed: str = "") -> str:
    code, said = shell.run(*words, typed=typed)
    assert code == 0, said
    return said


def data(shell: Shell, *words: str, typed: str = "") -> dict[str, Any]:
    return dict(json.loads(done(shell, *words, "--json", typed=typed)))


def test_words_are_kept_and_found_by_each_verb(shell: Shell) -> None:
    project = data(shell, "project", "create", "Harbor Light")["id"]
    kept = data(shell, "remember", "# Moorings\nBoats moor **at dusk**.", "-t", "rule", "--tag", "boats",
                "-p", "harbor-light")  # fmt: skip
    assert (kept["type"], kept["scope_key"]) == ("rule", project)
    mine = data(shell, "remember", "--title", "Keys", typed="The keys hang behind the door.\n")
    assert mine["memory_scope"] == "private"

    (hit,) = data(shell, "search", "moor at dusk", "-t", "rule", "--tag", "boats", "--limit", "1")["results"]
    assert (hit["id"], hit["name"]) == (kept["id"], "Moorings")
    assert f"{kept['id']} [rule] Moorings" in done(shell, "search", "moor at dusk", "-p", "Harbor Light")
    (memory,) = data(shell, "recall", "where are the keys")["memories"]
    assert memory["raw_content"] == "The keys hang behind the door.\n"
    assert "Boats moor **at dusk**." in done(shell, "recall", "moor", "-p", "harbor-light")
    assert f"`{kept['id']}` Moorings" in done(shell, "context", "Moor a boat", "--tokens", "500", "--intent", "debug")
    assert data(shell, "explore", "moorings")["entities"][0]["id"] == project
    for named in (kept["id"], kept["id"][:9], kept["id"].removeprefix("rule_"), "MOORINGS"):
        assert data(shell, "show", named)["content"] == "# Moorings\nBoats moor **at dusk**."
    assert "type: raw_memory" in done(shell, "show", mine["raw_memory_id"])
    assert data(shell, "stats")["entity_counts"]["rule"] == 1


def test_notes_are_reflected_on_and_wait_as_captures(shell: Shell) -> None:
    notes = shell.home / "notes.md"
    notes.write_text("Decision: we moor at dusk because the lock closes.\n")
    assert "Nothing of this is in the graph" in done(shell, "reflect", str(notes))
    assert "[raw_memory] Session reflection" in done(shell, "capture")
    (waiting,) = data(shell, "capture", "--type", "raw_memory")["captures"]
    assert waiting["raw_content"] == notes.read_text()
    assert "1 candidate, 1 kept" in done(shell, "reflect", "-", "--persist", typed=notes.read_text())
    assert data(shell, "capture", "--state", "deferred")["total"] == 0


def test_a_memory_is_corrected_and_comes_back(shell: Shell) -> None:
    memory = data(shell, "remember", "--title", "Port", typed="Staging listens on port 5433.\n")["raw_memory_id"]
    assert f"{memory}: mark_wrong_preview" in done(shell, "correct", memory, "wrong", "--preview")
    assert data(shell, "recall", "staging port")["memories"]
    assert "contested" in done(shell, "correct", memory, "wrong", "--reason", "it moved")
    assert data(shell, "recall", "staging port")["memories"] == []
    assert data(shell, "correct", memory, "restore")["applied"]
    assert data(shell, "correct", memory, "revise", "--content", "-", typed="Staging listens on 5437.\n")["applied"]
    assert "5437" in done(shell, "recall", "staging")
    code, said = shell.run("correct", memory, "explode")
    assert (code, "mark_wrong" in said) == (1, True)
    code, said = shell.run("correct", "raw_memory_absent", "wrong")
    assert (code, "memory_source_not_found" in said) == (1, True)


def test_what_waits_is_listed_and_decided(shell: Shell) -> None:
    memories = [
        data(shell, "remember", "--title", title, typed=f"Deploy with ghp_a1B2c3D4e5F6g7H8i9J0 {title}.\n")
        for title in ("today", "tomorrow")
    ]
    kept, edited = (each["raw_memory_id"] for each in memories)
    listed = done(shell, "review")
    assert all(f"{each}  secret  issued key in content" in listed for each in (kept, edited))
    assert "a1B2" not in listed
    assert data(shell, "review", kept, "approve")["applied"]
    done(shell, "review", edited, "edit", "--content", "-", typed="Deploy with the key in the vault.\n")
    assert data(shell, "review")["items"] == []
    assert "in the vault" in done(shell, "recall", "deploy key")
    code, said = shell.run("review", kept)
    assert (code, "go together" in said) == (2, True)
    assert shell.run("review", "absent", "reject")[0] == 1


def test_work_goes_from_created_to_done(shell: Shell) -> None:
    done(shell, "project", "create", "Harborlight", "-c", "A booking site")
    epic = data(shell, "epic", "create", "Refunds", "-p", "harborlight")["id"]
    task = data(shell, "task", "create", "Fix the mail", "--epic", "Refunds", "--priority", "high", "-c", "-",
                "-p", "Harborlight", typed="It is sent twice.")["id"]  # fmt: skip
    shown = data(shell, "task", "show", "fix the mail")
    assert (shown["content"], shown["metadata"]["epic_id"]) == ("It is sent twice.", epic)
    assert data(shell, "task", "start", task[:8])["data"]["status"] == "doing"
    assert data(shell, "task", "note", task, "Found the queue.")["data"]["content"] == "Found the queue."
    done(shell, "task", "complete", "Fix the mail", "-", typed="The queue repeats.")
    (listed,) = data(shell, "task", "list", "--status", "done", "-p", "harborlight")["entities"]
    assert listed["id"] == task
    assert data(shell, "task", "list", "--status", "todo")["total"] == 0
    assert data(shell, "task", "show", task)["metadata"]["learnings"] == "The queue repeats."
    done(shell, "epic", "start", "refunds")
    assert "status: in_progress" in done(shell, "epic", "list")
    assert data(shell, "project", "show", "harborlight")["metrics"]["completion_rate"] == 100
    assert "done: 1" in done(shell, "project", "show", "harborlight")
    assert data(shell, "project", "list")["total"] == 1


REFUSED = (
    (("search", "x", "-p", "harborligt"), 1, "such as Harborlight (project_"),
    (("project", "show", "harborligt"), 1, "such as Harborlight (project_"),
    (("task", "start", "Nothing"), 1, "There is no task with the id or name 'Nothing'."),
    (("show", "harbor"), 1, "Use an id, such as Harborlight (project_"),
    (("remember", "x", "--kind", "song"), 1, "'episode', 'decision'"),
    (("remember", " "), 2, "The text is empty."),
    (("remember",), 2, "The text is empty."),
    (("reflect", "nothing.md"), 2, "nothing.md cannot be read: No such file"),
    (("epic", "start", "Harborlight", "now"), 2, "takes no TEXT"),
    (("search",), 2, "query"),
    (("search", "x", "--url", "http://127.0.0.1:9"), 4, "No Engrain server answers"),
)


def test_a_refusal_names_the_way_out(shell: Shell) -> None:
    done(shell, "project", "create", "Harborlight")
    for words, code, answer in REFUSED:
        ended, said = shell.run(*words)
        assert (ended, answer in " ".join(said.split())) == (code, True), (words, said)
    assert shell.run("search", "x", ENGRAIN_TOKEN="")[0] == 3


def test_the_project_of_the_folder_is_used_where_the_server_knows_it(shell: Shell) -> None:
    def remote(address: str) -> None:
        subprocess.run(["git", "config", "remote.origin.url", address], cwd=shell.home, check=True)

    subprocess.run(["git", "init", "-q"], cwd=shell.home, check=True)
    remote("git@example.org:team/harborlight.git")
    assert "memory_scope: private" in done(shell, "remember", "Nobody knows the project yet.")
    project = data(shell, "project", "create", "Harborlight")["id"]
    assert f"scope_key: {project}" in done(shell, "remember", "Boats moor at dusk.")
    said = done(shell, "search", "nobody knows the project yet")
    assert ("Project harborlight, as this folder's Git remote says" in said, "yet." in said) == (True, False)
    assert "yet." in done(shell, "search", "nobody knows the project yet", "-p", "")
    remote("https://example.org/another/")
    assert "yet." in done(shell, "search", "nobody knows the project yet")


def test_a_terminal_gets_rendered_text_in_pages(shell: Shell) -> None:
    words = "# Moorings\n\nBoats moor **at dusk**.\x1b[2J\n\n" + "".join(f"- Berth {n}\n" for n in range(30))
    kept = data(shell, "remember", "-", typed=words)["id"]
    terminal = replace(shell, starter=TERMINAL)
    look = {"TERM": "xterm-256color", "PAGER": "sed s/^/PAGE:/", "LINES": "200"}
    code, said = terminal.run("show", kept, **look)
    assert (code, "\x1b[1mat dusk\x1b[0m" in said, "**" in said, "\x1b[2J" in said) == (0, True, False, False), said
    assert "PAGE:" not in said
    assert "PAGE:" in terminal.run("show", kept, **look | {"LINES": "20"})[1]
    code, said = terminal.run("show", kept, **look, NO_COLOR="1")
    assert (code, "**at dusk**" in said, "\x1b[" in said) == (0, True, False), said
    code, said = terminal.run("remember", **look)
    assert (code, "Write it as an argument, or pipe it in." in said) == (2, True)


def test_a_slow_answer_shows_that_it_is_awaited(shell: Shell) -> None:
    seen = Event()

    def answer_when_seen(connection: Any) -> None:
        assert seen.wait(60)
        body = b'{"entity_counts": {}}'
        head = f"HTTP/1.1 200 OK\r\nX-Engrain-Version: 1\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)

    terminal = replace(shell, starter=TERMINAL)
    with talking(answer_when_seen) as address, terminal.start("stats", "--url", address, TERM="xterm") as process:
        said = ""
        while "The server is at work" not in said:
            said += process.stdout.read(1)
        seen.set()
        process.communicate(timeout=60)
        assert process.returncode == 0


def test_shells_complete_the_names_of_commands(shell: Shell) -> None:
    asked = {"_APP_COMPLETE": "complete_bash", "COMP_WORDS": "app rec", "COMP_CWORD": "1"}
    assert "recall" in shell.run(**asked)[1]
