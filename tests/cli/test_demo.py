"""The demo runs for real, and leaves nothing behind however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli import demo
from cli.demo import Corpus, read_corpora
from stores.errors import EngrainError
from tests.cli.local.test_mcp import until

DEMO = [sys.executable, "-P", "-c", "from cli.main import app; app()", "demo"]

GUIDE = """\
# Orchard guide

## Introduction

Trees.

## When to prune apple trees

Prune in late winter, before the buds swell, and never more than a third of the crown.

## 3. Grafting old varieties

Cut scions in January and keep them in moist sand.
"""


def urls(read: Corpus) -> list[str]:
    return [each["url"] for request in read.requests for each in request]


def test_a_folder_is_read_as_far_as_it_is_text(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    files = {
        "guide.md": GUIDE.encode(),
        "deep/er/notes.rst": "Notes\n=====\n\nWörter.\n".encode(),
        "deep/bom.txt": b"\xef\xbb\xbfa text with a byte order mark",
        "code.py": b"print()",
        ".secret.md": b"# hidden",
        ".git/x.md": b"# hidden",
        "binary.txt": b"a\0b",
        "empty.md": b" \n",
        "big.txt": b"x" * (demo.BYTES_LIMIT + 1),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link.md").symlink_to(tmp_path / "guide.md")
    read = read_corpora(tmp_path)[-1]
    assert urls(read) == ["guide.md", "deep/bom.txt", "deep/er/notes.rst"]
    assert read.requests[0][1]["content"] == "a text with a byte order mark"
    assert read.skipped == 3


def test_a_large_folder_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (tmp_path / f"{number}.md").write_text("words " * 10)
    monkeypatch.setattr(demo, "BYTES_LIMIT", 150)
    monkeypatch.setattr(demo, "checkout", lambda: None)
    read = read_corpora(tmp_path)[-1]
    assert (urls(read), read.skipped) == (["0.md", "1.md"], 3)


def test_a_folder_without_text_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(EngrainError, match="holds no Markdown"):
        read_corpora(tmp_path)


def test_our_own_documents_are_read_from_a_checkout_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    (own,) = read_corpora(None)
    assert {"AGENTS.md", "docs/explain/search.md", "docs/experiments/0002-scores.md"} <= {*urls(own)}
    assert not any(url.startswith(("README", "docs/reference/")) for url in urls(own))
    monkeypatch.setattr(demo, "checkout", lambda: None)
    assert read_corpora(None) == []


@pytest.mark.parametrize(
    ("content", "question"),
    [
        (GUIDE, "What do we know about 3. Grafting old varieties?"),
        ("Sourdough needs time and patience.", "What do we know about Sourdough needs time and patience.?"),
    ],
)
def test_a_folder_is_asked_about_its_largest_document(tmp_path: Path, content: str, question: str) -> None:
    (tmp_path / "a.md").write_text(content)
    (tmp_path / "b.md").write_text("!")
    assert read_corpora(tmp_path)[-1].question == question


def test_a_demo_of_no_folder_says_so_and_fails(tmp_path: Path) -> None:
    ended = subprocess.run([*DEMO, "--folder", str(tmp_path / "no")], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "is not a folder" in ended.stderr
    assert "Traceback" not in ended.stderr


@contextmanager
def running_demo(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    folder = tmp_path / "orchard"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    for name in ("temporary", "home"):
        (tmp_path / name).mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    # The user's settings do not reach the demo's server.
    environ["ENGRAIN_DATABASE_URL"] = "postgresql+psycopg://localhost:1/real"
    with subprocess.Popen(
        [*DEMO, "--folder", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**environ, "TMPDIR": str(tmp_path / "temporary"), "HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        # As in a terminal, whatever this process was told to ignore.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as demo:
        try:
            yield demo
        finally:
            demo.kill()


def left_behind(tmp_path: Path) -> list[Path]:
    return [*(tmp_path / "temporary").iterdir(), *(tmp_path / "home").iterdir()]


def server_of(demo: "subprocess.Popen[str]") -> int:
    for line in demo.stdout:
        if "(process " in line:
            return int(line.partition("(process ")[2].partition(")")[0])
    raise AssertionError("the demo ended before its server was ready")


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads process states from /proc")
class TestARealRun:
    def test_it_answers_every_question_and_leaves_nothing(self, tmp_path: Path) -> None:
        with running_demo(tmp_path) as demo:
            pid = server_of(demo)
            said = demo.stdout.read()
            assert demo.wait(240) == 0, said
        for expected in (
            "Q  What do we know about 3. Grafting old varieties?",
            "The ledger lives in SQLite",
            "by words #",
            "search(query=",
            "expand_neighbors(",
            "What to do next",
        ):
            assert expected in said
        assert "\x1b[" not in said, "no colours into a pipe"
        assert until(lambda: not is_running(pid))
        assert left_behind(tmp_path) == []

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
    def test_stopped_midway_it_takes_its_server_and_folder_with_it(self, tmp_path: Path, how: signal.Signals) -> None:
        with running_demo(tmp_path) as demo:
            pid = server_of(demo)
            demo.send_signal(how)
            said = demo.stdout.read()
            assert demo.wait(60) == 1, said
        assert "Stopped" in said
        assert "Traceback" not in said
        assert until(lambda: not is_running(pid))
        assert left_behind(tmp_path) == []

    def test_even_a_killed_demo_leaves_no_server(self, tmp_path: Path) -> None:
        with running_demo(tmp_path) as demo:
            pid = server_of(demo)
            demo.kill()
            assert demo.wait(60) == -signal.SIGKILL
        assert until(lambda: not is_running(pid))

    def test_a_server_that_dies_is_reported_in_a_sentence(self, tmp_path: Path) -> None:
        with running_demo(tmp_path) as demo:
            os.kill(server_of(demo), signal.SIGKILL)
            said = demo.stdout.read()
            assert demo.wait(60) == 1, said
        assert "The demo failed: " in said
        assert "Traceback" not in said
        assert left_behind(tmp_path) == []
