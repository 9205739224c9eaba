"""Histories far longer than anybody reads, by the command as a user starts it."""

import os
import subprocess
from pathlib import Path

from tests.cli.release_notes.looms import git
from tests.cli.release_notes.test_command import PROGRAM, ROOT

COMMITS = 6_000
BREAKING = {2_000: "the store", 5_990: "the server"}
_MESSAGES = (
    "Handle empty input in part {0} (#{0})",
    "fix(part): stop losing rows of table {0}",
    "docs: explain table {0}",
    "chore: tidy part {0}",
)


def history(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    lines = list[str]()
    for number in range(COMMITS + 1):
        message = f"feat: begin with thing {number}" if number == 1 else _MESSAGES[number % 4].format(number)
        if what := BREAKING.get(number):
            message = f"feat!: remove {what}\n\nBREAKING CHANGE: {what} is gone; call `weave {number}` instead.\n"
        text = f"value = {number}\n"
        lines += [
            "commit refs/heads/main",
            f"committer Person {number % 60} <person.{number % 60}@example.org> {1_500_000_000 + number * 600} +0100",
            f"data {len(message)}\n{message}",
            f"M 100644 inline src/tool/module{number % 40}.py\ndata {len(text)}\n{text}",
        ]
        if number == 0:
            lines += ["reset refs/tags/v1.0.0", "from refs/heads/main", ""]
    stream = "\n".join([*lines, "reset refs/tags/v2.0.0", "from refs/heads/main", ""])
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=stream.encode(), check=True)
    return folder


def test_a_range_of_6_000_commits_is_told_like_a_short_one(tmp_path: Path) -> None:
    folder = history(tmp_path / "long")
    done = subprocess.run(
        [*PROGRAM, "--raw", "--from", "v1.0.0", "--to", "v2.0.0"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert f"in {COMMITS:,} commits (" in done.stdout
    assert ") by 60 people since `v1.0.0`" in done.stdout
    breaking = done.stdout.split("## Breaking changes\n")[1].split("\n## ")[0]
    assert sorted(line[4:].split(".")[0] for line in breaking.strip().splitlines()) == [
        f"Remove {what}" for what in sorted(BREAKING.values())
    ]
    assert "- Begin with thing 1 (" in done.stdout
    assert "lists all 6,000 commits" in done.stdout
    assert len(done.stdout) < 400_000
