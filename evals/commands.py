"""What `engrain eval` does with runs that are stored already, and with files of labelled sets."""

from collections.abc import Callable, Sequence
from pathlib import Path

from evals.comparison import as_table, compare
from evals.datasets import check_file
from evals.datasets.own import SHOWN
from evals.gate import judge
from evals.options import Options
from evals.outputs import refuse_outputs, refuse_unwritable, write
from evals.reports.tables import Table
from evals.reports.text import as_markdown, draw
from evals.runs import Archive, default_runs
from evals.runs.baseline import Header, as_lines
from evals.runs.journal import standing
from evals.runs.record import RECORD
from evals.suites import NOTHING_TO_MEASURE, report
from stores.errors import EngrainError

Say = Callable[[str], None]
WORSE = 1
"""Exit code of a closed gate, and of a file with problems."""


UNFINISHED = (
    "A run that is not finished goes on with the command that began it; with --afresh as well it begins anew. One that"
    " never started has nothing to go on with. Removing the folder of a run, which has its name, forgets it."
)


def show_runs(folder: Path | None, say: Say) -> int:
    """List the runs, the latest first. Returns 2 where there is a file in place of the folder."""
    runs = folder or default_runs()
    if runs.exists() and not runs.is_dir():
        say(f"{runs} is no folder.")
        return NOTHING_TO_MEASURE
    found, remarks = Archive(runs).listed()
    rows = [
        [
            record.id, record.suite, standing(path, record), record.version, record.commit,
            str(record.command.get("url") or ""), ", ".join(record.data), ", ".join(record.command.get("arms", ())),
            str(record.command.get("limit") or "all"), str(record.command.get("name", "")),
        ]
        for path, record in found
    ]  # fmt: skip
    columns = ("run", "suite", "finished", "version", "commit", "server", "data", "arms", "questions per set", "name")
    note = UNFINISHED if any(record.finished_at is None for _, record in found) else ""
    say(draw([Table(str(runs), columns, rows, note)]) if rows else f"There are no runs in {runs} yet.")
    _warn(remarks, say)
    return 0


def show_report(run: str, options: Options, say: Say) -> int:
    """Show a stored run, and write it where it is wanted."""

    def show() -> None:
        refuse_outputs(options)
        report(_archive(options.runs, say, run).read(run), options, say)

    return _said(say, show)


def show_comparison(
    names: tuple[str, str], arms: tuple[str, str] | None, folder: Path | None, markdown: Path | None, say: Say
) -> int:
    """Compare two stored runs."""

    def show() -> None:
        refuse_unwritable([markdown] if markdown else [])
        archive = _archive(folder, say, *names)
        table = as_table(compare(archive.read(names[0]), archive.read(names[1]), arms))
        say(draw([table]))
        if markdown:
            write(markdown, as_markdown(table) + "\n")

    return _said(say, show)


def judge_run(baseline: str, run: str, most_p50_ms: float | None, folder: Path | None, say: Say) -> int:
    """Hold a run against a baseline. Returns 1 where it is worse beyond noise, 2 where they cannot be compared."""
    archive = _archive(folder, say, baseline, run)
    try:
        verdict = judge(archive.read(baseline), archive.read(run), most_p50_ms=most_p50_ms)
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    say(draw([as_table(verdict.comparison)]))
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
    """Write a stored run's cases."""

    def keep() -> None:
        refuse_unwritable([file])
        stored = _archive(folder, say, run).read(run)
        measures = {part.set: part.measure for part in stored.parts}
        header = Header(data=stored.data, measures=measures, instructions=stored.instructions)
        write(file, as_lines(stored.cases, header))
        say(f"{file} holds the {len(stored.cases)} cases of {stored.name}.")

    return _said(say, keep)


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


def _archive(folder: Path | None, say: Say, *wanted: str) -> Archive:
    """Open the runs, and say which of them cannot be read: `latest` passes over them.

    Of those that are wanted by their ids, reading them says so.
    """
    archive = Archive(folder or default_runs())
    told = tuple(f"{archive.folder / name / RECORD} " for name in wanted)
    _warn([remark for remark in archive.listed()[1] if not remark.startswith(told)], say)
    return archive


def _warn(remarks: Sequence[str], say: Say) -> None:
    for remark in remarks:
        say(f"Warning: {remark}")


def _said(say: Say, act: Callable[[], None]) -> int:
    try:
        act()
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    return 0
