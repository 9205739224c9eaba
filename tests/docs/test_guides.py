"""Commands of the guides: each is understood, and those that need nothing but this machine are run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from cli.evaluation import DEFAULT
from cli.local.server import stop
from cli.main import app
from tests.docs.test_docs import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN = ("start", "setup", "command-line", "importing", "experience", "README", "exporting")
ELSEWHERE = re.compile(r"example\.org|engrain login|engrain whoami")
GIVEN = {"rule_ff6f": "'Never deploy on a Friday.'"}
PREPARED = """
git init -q . && git -c user.name=A -c user.email=a@x commit -q --allow-empty -m "Begin the booking site"
mkdir docs ~/notes ~/.claude ~/.codex
echo "Hold seats for ten minutes." | tee docs/seats.md > ~/notes/seats.md
echo "We decided to hold seats for ten minutes." > notes.md
printf 'test:\\n\\ttrue\\n' > Makefile
mkdir -p ~/.claude/projects/app && echo '{"type":"user","uuid":"1","timestamp":"2026-01-01T00:00:00Z",\
"sessionId":"s","message":{"role":"user","content":"Hold seats for ten minutes."}}' > ~/.claude/projects/app/s.jsonl
engrain project create Heron && engrain project create Billing
"""


def commands(page: Path) -> list[str]:
    blocks = "".join(FENCED.findall(page.read_text(encoding="utf-8")))
    return re.findall(r"^(?:\$ )?((?:git log .*\| )?engrain (?!serve is).*)$", blocks, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_command_of_a_guide_is_understood(page: Path) -> None:
    for line in commands(page):
        words = shlex.split(line.split("| ")[-1].split(" > ")[0].split(" < ")[0], comments=True)[1:]
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            name = words.pop(0) if words[0] in command.commands else DEFAULT  # `engrain eval` has one
            command = command.commands[name]
            command = getattr(command, "real", command)
        command.make_parser(typer.Context(command)).parse_args(words)


@pytest.mark.slow
def test_the_guides_can_be_followed(tmp_path: Path) -> None:
    program, work = tmp_path / "bin/engrain", tmp_path / "work"
    program.parent.mkdir()
    work.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -c "from cli.entry import main; main()" "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAIN_", "XDG_"))}
    environ = {**kept, "HOME": str(tmp_path), "PATH": f"{program.parent}:{kept['PATH']}", "ENGRAIN_DATA_DIR": "../data"}
    lines = [line for name in RUN for page in PAGES if page.stem == name for line in commands(page)]
    lines.sort(key=lambda line: "project create" not in line)
    failed = []
    try:
        for line in [*PREPARED.strip().replace("\\\n", "").splitlines(), *lines]:
            if ELSEWHERE.search(line):
                continue
            for words, given in GIVEN.items():
                line = line.replace(words, given)
            ran = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", line], cwd=work, env=environ, input="y\n", text=True,
                capture_output=True, timeout=120,
            )  # fmt: skip
            failed += [f"{line}: {ran.stdout}{ran.stderr}"] if ran.returncode else []
    finally:
        stop(tmp_path / "data")
    assert not failed, "\n".join(failed)
