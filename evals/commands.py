"""What `engrain eval` does with runs that are stored already, and with files of labelled sets."""

from collections.abc import Callable, Sequence
from pathlib import Path

from evals.comparison import as_table, compare
from evals.datasets import check_file
from evals.datasets.own import SHOWN
from evals.gate import judge
from evals.options import Options
from evals.reports.tables import Table
from evals.reports.text import as_markdown, draw
from evals.runs import Archive, default_runs
from evals.runs.journal import write_cases
from evals.suites import NOTHING_TO_MEASURE, report
from stores.errors import EngrainError

Say = Callable[[str], None]
WORSE = 1
"""Exit code of a closed gate, and of a file with problems."""


def show_runs(folder: Path | None, say: Say) -> int:
    """List the runs, the latest first."""
    runs = folder or default_runs()
    records = Archive(runs).records() if runs.is_dir() else []
    rows = [
        [
            record.id, record.suite, f"{record.finished_at:%Y-%m-%d %H:%M}" if record.finished_at else "unfinished",
            record.commit, ", ".join(record.data), ", ".join(record.command.get("arms", ())),
            str(record.command.get("limit") or "all"), str(record.command.get("name", "")),
        ]
        for record in records
    ]  # fmt: skip
    columns = ("run", "suite", "finished", "commit", "data", "arms", "questions per set", "name")
    say(draw([Table(str(runs), columns, rows)]) if rows else f"There are no runs in {runs} yet.")
    return 0


def show_report(run: str, options: Options, say: Say) -> int:
    """Show a stored run, and write it where it is wanted."""
    return _said(say, lambda: report(Archive(options.runs or default_runs()).read(run), options, say))


def show_comparison(
    names: tuple[str, str], arms: tuple[str, str] | None, folder: Path | None, markdown: Path | None, say: Say
) -> int:
    """Compare two stored runs."""

    def show() -> None:
        archive = Archive(folder or default_runs())
        table = as_table(compare(archive.read(names[0]), archive.read(names[1]), arms))
        say(draw([table]))
        if markdown:
            markdown.write_text(as_markdown(table) + "\n", encoding="utf-8")

    return _said(say, show)


def judge_run(baseline: str, run: str, most_p50_ms: float | None, folder: Path | None, say: Say) -> int:
    """Hold a run against a baseline. Returns 1 where it is worse beyond noise, 2 where they cannot be compared."""
    archive = Archive(folder or default_runs())
    try:
        verdict = judge(archive.read(baseline), archive.read(run), most_p50_ms=most_p50_ms)
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    say(draw([as_table(verdict.comparison)]))
    for failure in verdict.failures:
        say(f"Worse: {failure}")
    say("The gate is open." if verdict.is_open else "The gate is closed.")
    return 0 if verdict.is_open else WORSE


def write_baseline(run: str, file: Path, folder: Path | None, say: Say) -> int:
    """Write a stored run's cases."""

    def write() -> None:
        stored = Archive(folder or default_runs()).read(run)
        write_cases(file, stored.cases)
        say(f"{file} holds the {len(stored.cases)} cases of {stored.name}.")

    return _said(say, write)


def check_files(files: Sequence[Path], say: Say) -> int:
    """Check files of our own form. Returns 1 where one has problems."""
    clean = True
    for file in files:
        found = check_file(file)
        for problem in found.problems[:SHOWN]:
            say(str(problem))
        if len(found.problems) > SHOWN:
            say(f"{file}: {len(found.problems) - SHOWN} more problems.")
        if found.problems:
            clean = False
        elif found.head is not None:
            say(f"{file}: {found.head.name}, {len(found.texts)} texts, {len(found.questions)} questions.")
    return 0 if clean else WORSE


def _said(say: Say, act: Callable[[], None]) -> int:
    try:
        act()
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    return 0
