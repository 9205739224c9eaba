"""Release notes of long ranges, each by a process of its own as a user starts it: seconds, and memory."""

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from evals.bench.figures import Figure, Target
from evals.bench.history import BEGINNING, END, long_history
from evals.bench.measurement import Measurement
from evals.timing import spread
from stores.errors import EngrainError

RUNS, QUICK_RUNS = 5, 2
FEW, QUICK_FEW = 500, 60
MANY, QUICK_MANY = 10_000, 200
MOST, QUICK_MOST = 20_000, 400
"""The longest range that the command is asked for; it has no limit of its own."""
_COMMAND = """\
import atexit, pathlib, sys
status = pathlib.Path("/proc/self/status")
if status.exists():
    atexit.register(lambda: sys.stderr.writelines(l for l in status.open() if l.startswith("VmHWM")))
from cli.main import app
app()
"""
"""The command, which says at its end how much memory it took: what is asked of the child counts the parent's, too."""
_PEAK = re.compile(rb"VmHWM:\s+(\d+) kB")
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the command; memory is the most that was resident."""

    took_s: float
    peak_mb: float


def measure_release_notes(measurement: Measurement, folder: Path) -> None:
    """Make three histories and write the notes of each, without a language model."""
    quick = measurement.quick
    few, many, most = (QUICK_FEW, QUICK_MANY, QUICK_MOST) if quick else (FEW, MANY, MOST)
    found = {}
    for count, runs in ((few, QUICK_RUNS if quick else RUNS), (many, 1), (most, 1)):
        measurement.say(f"release notes of {count:,} commits …")
        found[count] = _runs(folder / str(count), count, runs)
    times = spread([run.took_s for run in found[few]])
    measurement.figures += [
        Figure(f"release notes of {few:,} commits", "s", times.p50, times.n, times.p95, Target(3, 2)),
        Figure(f"release notes of {many:,} commits", "s", found[many][0].took_s, 1, target=Target(30, 15)),
        Figure("most memory of that process", "MB", found[many][0].peak_mb, 1, target=Target(500, 300)),
        Figure(f"release notes of {most:,} commits", "s", found[most][0].took_s, 1),
        Figure("most memory with so many", "MB", found[most][0].peak_mb, 1),
    ]


def _runs(folder: Path, commits: int, times: int) -> list[Run]:
    long_history(folder, commits)
    return [write_notes(folder) for _ in range(times)]


def write_notes(folder: Path) -> Run:
    """Run the command over the whole history of a repository.

    Raises:
        EngrainError: It did not end well; says what it said.
    """
    environ = {name: value for name, value in os.environ.items() if name not in _KEYS}
    arguments = [sys.executable, "-P", "-c", _COMMAND, "release-notes", "--raw", "--from", BEGINNING, "--to", END]
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own interpreter and command
        arguments, cwd=folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        said = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        took_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        message = _PEAK.sub(b"", said).decode(errors="replace").strip()
        raise EngrainError(f"Writing release notes failed: {message[-300:]}")
    if found := _PEAK.search(said):
        return Run(took_s, int(found[1]) / 1024)
    # Kilobytes on Linux, bytes on macOS.
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return Run(took_s, usage.ru_maxrss / unit)
