"""Write the release notes of labelled ranges, and compare what they call breaking with the labels."""

import hashlib
import math
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.datasets.collection import json_lines, readable
from evals.runs import Case, Journal, Options, Part, Prepared, default_data
from stores.errors import EngrainError

SET, ARM = "release-notes", "rules"
REPOSITORIES, LABELS = "repositories.tar.gz", "breaking-dev.jsonl"
_COMMAND = """\
import atexit, pathlib, sys
status = pathlib.Path("/proc/self/status")
if status.exists():
    atexit.register(lambda: sys.stderr.writelines(l for l in status.open() if l.startswith("VmHWM")))
from cli.main import app
app()
"""
"""Prints its own peak memory: `ru_maxrss` of a child includes its parent's."""
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
_BREAKING = re.compile(r"^## Breaking changes\n(.*?)^## ", re.M | re.S)
_ALIKE = 40
"""Letters that a statement and a label have in common if they are about the same change."""


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    commits: tuple[str, ...]
    pull_requests: tuple[str, ...]

    def meets(self, label: dict[str, Any]) -> bool:
        """Return whether a label is about this statement: by commit, pull request or words."""
        commits = any(sha.startswith(each) for sha in label["commits"] for each in self.commits)
        numbers = bool(set(self.pull_requests) & set(label["pull_requests"]))
        stated = _letters(re.sub(r"^\*\*[\w/ -]+:\*\* ", "", label["stated"]))[:_ALIKE]
        return commits or numbers or stated in _letters(self.text)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+|https\S+", "", text).casefold()


def prepare(options: Options) -> Prepared:
    """Find the repositories and labels, or raise EngrainError; measuring takes about half a minute."""
    data = options.data or default_data() or Path()
    folder = data / "release-notes" if (data / "release-notes").is_dir() else data
    missing = [name for name in (REPOSITORIES, LABELS) if not (folder / name).is_file()]
    if missing:
        raise EngrainError(f"There is nothing to write notes of: {', '.join(missing)} missing. Give --data PATH.")
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (REPOSITORIES, LABELS)}
    return Prepared(hashes, lambda journal: _measure(journal, folder))


def _measure(journal: Journal, folder: Path) -> None:
    with readable(folder / LABELS, "labels"):
        ranges: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for row in json_lines(folder / LABELS):
            ranges.setdefault((row["repository"], row["from"], row["to"]), []).append(row)
    found: list[Case] = []
    with tempfile.TemporaryDirectory(prefix="engrain-release-notes-") as temporary:
        try:
            with tarfile.open(folder / REPOSITORIES) as archive:
                archive.extractall(temporary, filter="data")
        except (tarfile.TarError, OSError, EOFError) as error:
            raise EngrainError(f"{folder / REPOSITORIES} cannot be read: {error}") from error
        for (name, older, newer), labels in ranges.items():
            notes = write_notes(Path(temporary) / f"{name}.git", older, newer).notes
            found += cases(f"{name} {newer}", list(breaking_in(notes)), labels)
    journal.add(Part(SET, ARM, "change", len(ranges), "right"), found)


@dataclass(frozen=True, slots=True)
class Written:
    notes: str
    took_s: float
    peak_mb: float
    """Peak memory, on Linux only; else NaN."""


def write_notes(repository: Path, older: str, newer: str) -> Written:
    """Write the notes between two references in a process of their own, or raise EngrainError."""
    flags = ("--raw", "--preset", "default", "--instructions", "", "--provider", "offline", "--repo", str(repository))
    command = [sys.executable, "-P", "-c", _COMMAND, "release-notes", "--from", older, "--to", newer, *flags]
    environ = {**os.environ, "PYTHONUTF8": "1"}
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - our own interpreter and command
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", check=False
    )
    took_s = time.perf_counter() - start
    if done.returncode:
        reason = _PEAK.sub("", done.stderr).strip()[-300:]
        raise EngrainError(f"Writing the release notes of {repository.name} failed: {reason}")
    peak = _PEAK.search(done.stderr)
    return Written(done.stdout, took_s, int(peak[1]) / 1024 if peak else math.nan)


def breaking_in(notes: str) -> Iterator[Statement]:
    section = _BREAKING.search(notes)
    for line in section[1].splitlines() if section else ():
        if line.startswith("- "):
            cited = line.rpartition(" (")[2]
            yield Statement(
                line[2:], tuple(re.findall("`([0-9a-f]{7,40})`", cited)), tuple(re.findall(r"#(\d+)", cited))
            )


def cases(name: str, called: Sequence[Statement], labels: Sequence[dict[str, Any]]) -> Iterator[Case]:
    """Yield a case for each change that breaks, and for each statement that a label judges."""

    def case(what: str, text: str, *, right: bool) -> Case:
        identity = hashlib.sha256(text.encode()).hexdigest()[:12]
        return Case(SET, ARM, "change", f"{name} {what} {identity}", {"right": float(right)}, name, what, question=text)

    for label in labels:
        if label["breaking"]:
            yield case("breaking recall", label["stated"], right=any(each.meets(label) for each in called))
    for each in called:
        judged = [label["breaking"] for label in labels if each.meets(label)]
        if judged:
            yield case("breaking precision", each.text, right=any(judged))
