"""Commands of `engrain eval` on stored runs and labelled files."""

from collections.abc import Sequence
from pathlib import Path

from evals.datasets import read_own
from evals.report import compare, compared, judge, markdown, table
from evals.runs import CASES, baseline_lines, default_runs, list_runs, read_run
from evals.suites import NOTHING_TO_MEASURE, Say
from stores.errors import EngrainError

WORSE = 1


def show_runs(folder: Path | None, say: Say) -> int:
    runs = folder or default_runs()
    rows = []
    for path, record in list_runs(runs):
        cases = (path / CASES).read_bytes().count(b"\n")
        data, name = ", ".join(record.data), str(record.command.get("name", ""))
        rows.append([path.name, record.finished_at[:16], record.version, record.commit, data, str(cases), name])
    columns = ("run", "finished", "version", "commit", "data", "cases", "name")
    say(table(columns, rows) if rows else f"There are no runs in {runs} yet.")
    return 0


def show_report(run: str, folder: Path | None, say: Say) -> int:
    say(markdown(read_run(run, folder or default_runs())))
    return 0


def show_comparison(names: tuple[str, str], arms: tuple[str, str] | None, folder: Path | None, say: Say) -> int:
    before, after = (read_run(name, folder or default_runs()) for name in names)
    say(compared(compare(before, after, arms)))
    return 0


def judge_run(baseline: str, run: str, folder: Path | None, say: Say) -> int:
    """Compare a run with a baseline. Return 1 if it is significantly worse, 2 if they are not comparable."""
    runs = folder or default_runs()
    verdict = judge(read_run(baseline, runs), read_run(run, runs))
    say(compared(verdict))
    for failure in verdict.failures:
        say(f"Worse: {failure}")
    for reason in verdict.unjudged:
        say(f"Cannot be judged: {reason}")
    if verdict.unjudged and not verdict.failures:
        say("The gate says nothing: measure more questions.")
        return NOTHING_TO_MEASURE
    say("The gate is open." if verdict.is_open else "The gate is closed.")
    return 0 if verdict.is_open else WORSE


def write_baseline(run: str, file: Path, folder: Path | None, say: Say) -> int:
    """Write the cases of a stored run, without texts."""
    stored = read_run(run, folder or default_runs())
    file.write_text(baseline_lines(stored), encoding="utf-8")
    say(f"{file} holds the {len(stored.cases)} cases of {stored.name}.")
    return 0


def check_files(files: Sequence[Path], say: Say) -> int:
    """Check labelled files. Return 1 if one has problems."""
    clean = True
    for file in files:
        try:
            found = read_own(file)
            asked = len(found.questions) + len(found.unanswered)
            say(f"{file}: {found.name}, {len(found.texts)} texts, {asked} questions.")
        except EngrainError as error:
            say(error.message)
            clean = False
    return 0 if clean else WORSE
