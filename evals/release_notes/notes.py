"""Run `engrain release-notes` and parse its changes."""

import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from stores.errors import EngrainError

BREAKING = "Breaking changes"
LISTS = frozenset({"Features", "Improvements", "Fixes"})
_COMMAND = "from cli.main import app\napp()"
_AS_THEY_COME = ("--raw", "--preset", "detailed", "--instructions", "", "--provider", "offline")
"""List everything, regardless of the user's settings."""
_STATEMENT = re.compile(r"- (?P<text>.+) \((?P<cited>[^()]+)\)")
_COMMIT = re.compile(r"`([0-9a-f]{7,40})`")


@dataclass(frozen=True, slots=True)
class Change:
    breaking: bool
    commits: tuple[str, ...]
    """Full shas."""
    text: str


def notes_of(folder: Path, older: str, newer: str) -> str:
    """Write the notes between two references.

    Raises:
        EngrainError: The command failed.
    """
    command = [sys.executable, "-P", "-c", _COMMAND, "release-notes", "--from", older, "--to", newer, *_AS_THEY_COME]
    environ = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(  # noqa: S603 - our own interpreter and command
        command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise EngrainError(f"Writing the release notes of {folder.name} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def changes_in(notes: str, shas: Collection[str]) -> Iterator[Change]:
    """Yield the changes in order; `shas` may be cited."""
    section = ""
    for line in notes.splitlines():
        if line.startswith("#"):
            section = line.lstrip("#").strip()
        elif (found := _STATEMENT.fullmatch(line)) and _is_change(section, found["text"]):
            cited = tuple(_COMMIT.findall(found["cited"]))
            yield Change(section == BREAKING, tuple(sha for sha in shas if sha.startswith(cited)), found["text"])


def _is_change(section: str, text: str) -> bool:
    return section == BREAKING or (section in LISTS and not text.startswith(("**Breaking:**", "**Breaking,", "… and ")))
