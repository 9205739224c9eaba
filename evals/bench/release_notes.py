"""Seconds and memory of release notes of long ranges, each in its own process."""

import subprocess
from pathlib import Path

from evals.bench.history import BEGINNING, END, long_history
from evals.bench.measurement import Figure, Measurement, Target
from evals.machine import spread, timed_ms
from evals.release_notes.run import write_notes

RUNS, QUICK_RUNS = 5, 2
FEW, QUICK_FEW = 500, 60
MANY, QUICK_MANY = 20_000, 200


def measure_release_notes(measurement: Measurement, folder: Path) -> None:
    quick = measurement.quick
    few, many = (QUICK_FEW, QUICK_MANY) if quick else (FEW, MANY)
    found = {}
    for count, runs in ((few, QUICK_RUNS if quick else RUNS), (many, 1)):
        measurement.say(f"release notes of {count:,} commits …")
        long_history(folder / str(count), count)
        found[count] = [write_notes(folder / str(count), BEGINNING, END) for _ in range(runs)]
    (floor,) = timed_ms(_bare_log, [folder / str(many)])
    times = spread([run.took_s for run in found[few]])
    measurement.figures += [
        Figure(f"release notes of {few:,} commits", "s", times.p50, times.n, times.p95, Target(3, 2)),
        Figure(f"release notes of {many:,} commits", "s", found[many][0].took_s, 1, target=Target(20, 10)),
        Figure("most memory of that process", "MB", found[many][0].peak_mb, 1, target=Target(300, 150)),
        Figure("a bare `git log --name-only` of that history", "s", floor / 1000, 1),
    ]


def _bare_log(folder: Path) -> None:
    command = ["git", "-C", str(folder), "log", "--name-only", f"{BEGINNING}..{END}"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 - Git's own program
