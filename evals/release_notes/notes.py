"""Has the command write the notes of a repository, as any user would, and reads off them what they tell."""

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
"""The headings under which notes say what is new, in the order of the notes."""
_COMMAND = "from cli.main import app\napp()"
_AS_THEY_COME = ("--raw", "--preset", "detailed", "--instructions", "", "--provider", "offline")
"""Everything is listed, whatever the user's own file of settings says."""
_STATEMENT = re.compile(r"- (?P<text>.+) \((?P<cited>[^()]+)\)")
_COMMIT = re.compile(r"`([0-9a-f]{7,40})`")


@dataclass(frozen=True, slots=True)
class Change:
    """A change that notes tell: among those that break, or else in a list of what is new."""

    breaking: bool
    commits: tuple[str, ...]
    """The full shas of those that are cited."""
    text: str


def notes_of(folder: Path, older: str, newer: str) -> str:
    """Write the notes of what lies between two references of the repository in a folder.

    Raises:
        EngrainError: The command failed; the message is what it said.
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
    """Yield the changes that notes tell, in their order; `shas` are all that they may cite."""
    section = ""
    for line in notes.splitlines():
        if line.startswith("#"):
            section = line.lstrip("#").strip()
        elif (found := _STATEMENT.fullmatch(line)) and _tells(section, found["text"]):
            cited = tuple(_COMMIT.findall(found["cited"]))
            yield Change(section == BREAKING, tuple(sha for sha in shas if sha.startswith(cited)), found["text"])


def _tells(section: str, text: str) -> bool:
    """In a list what breaks is told once more, and what has no room there is counted."""
    return section == BREAKING or (section in LISTS and not text.startswith(("**Breaking:**", "**Breaking,", "… and ")))
