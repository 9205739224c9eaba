"""The suites of evaluations, and the one way in which each is run, kept and reported."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evals.gate import missed
from evals.harness import prepare as prepare_retrieval
from evals.history import prepare as prepare_history
from evals.options import Options
from evals.outputs import refuse_outputs, write
from evals.packs import prepare as prepare_packs
from evals.prepared import Prepared
from evals.reflection import prepare as prepare_reflection
from evals.release_notes import prepare as prepare_release_notes
from evals.reports.figures import ALL, HEADLINE, Figure, Summary, summaries
from evals.reports.page import page
from evals.reports.text import in_terminal, markdown
from evals.runs import Archive, Journal, RunRecord, Stored, default_runs, new_record
from evals.stopping import stoppable
from evals.synthesis import prepare as prepare_synthesis
from evals.usage import prepare as prepare_usage
from stores.errors import EngrainError

FELL_SHORT, NOTHING_TO_MEASURE, INTERRUPTED = 1, 2, 130
"""Exit codes: a strict run misses what is asked of it; the data is not there or the command cannot be carried out;
stopped by Ctrl-C or SIGTERM."""


SUITES: Mapping[str, Callable[[Options], Prepared]] = {
    "retrieval": prepare_retrieval,
    "history": prepare_history,
    "packs": prepare_packs,
    "reflection": prepare_reflection,
    "release-notes": prepare_release_notes,
    "synthesis": prepare_synthesis,
    "usage": prepare_usage,
}
"""By name, what reads and checks everything before it begins. Each has its command in `cli/evaluation.py`."""


def run_suite(name: str, options: Options, say: Callable[[str], None]) -> int:
    """Measure, keep and report.

    Returns the exit code: 0; with sentences 1 where a strict run falls short, and 2 where it cannot be done; 130 if
    stopped.
    """
    try:
        refuse_outputs(options)
        stored = measure(name, options, say)
        if stored is None:
            return INTERRUPTED
        report(stored, options, say)
        failures = missed(stored) if options.strict else []
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    for failure in failures:
        say(failure)
    return FELL_SHORT if failures else 0


def measure(name: str, options: Options, say: Callable[[str], None]) -> Stored | None:
    """Run a suite to its end and keep the run; None where it was interrupted.

    Raises:
        EngrainError: It cannot be measured; what was answered until then is kept for the same command.
    """
    if not options.name.isprintable():
        raise EngrainError(f"--name is {options.name!r}: take letters, digits and signs that can be seen.")
    runs = options.runs or default_runs()
    prepared = SUITES[name](options)
    record = new_record(name, prepared.command, prepared.settings, prepared.data, prepared.subject)
    archive = Archive(runs)
    for remark in archive.listed()[1]:
        say(f"Warning: {remark}")
    archive.require_usable()
    journal = _begun(runs, record, afresh=options.afresh)
    if journal.is_resumed:
        say(f"Going on with {journal.record.id}, which has {len(journal.cases)} answers.")
    try:
        with stoppable():
            return archive.finish(journal, prepared.measure(journal))
    except KeyboardInterrupt:
        say(f"Interrupted. {_left(journal)}")
        return None
    except (EngrainError, OSError) as error:
        reason = error.message if isinstance(error, EngrainError) else f"{error}."
        raise EngrainError(f"{reason} {_left(journal)}") from error
    finally:
        journal.close()


def _begun(runs: Path, record: RunRecord, *, afresh: bool) -> Journal:
    try:
        return Journal.begin(runs, record, afresh=afresh)
    except OSError as error:
        raise EngrainError(f"No run can be kept in {runs}: {error}. Name another folder with --runs.") from error


def _left(journal: Journal) -> str:
    """Say what a run leaves behind that was not finished; what would be empty is removed."""
    if journal.is_empty:
        journal.discard()
        return "Nothing was stored or answered as a whole yet, so that nothing is kept."
    return f"{len(journal.cases)} answers are kept: the same command goes on with {journal.record.id}."


def report(stored: Stored, options: Options, say: Callable[[str], None]) -> None:
    """Show the figures, and write them where the user wants them.

    Raises:
        EngrainError: A file cannot be written; the message names the command that writes it from the stored run.
    """
    say(in_terminal(stored))
    if stored.details:
        say(stored.details)
    try:
        if options.markdown_file:
            write(options.markdown_file, markdown(stored))
        if options.html_file:
            write(options.html_file, page(stored, _points(stored, options, say)))
        if options.json_file:
            write(options.json_file, json.dumps(_numbers(document(stored)), indent=2))
    except EngrainError as error:
        way = f" The run is kept: `engrain eval report {stored.name}` writes it." if stored.record else ""
        raise EngrainError(error.message + way) from error
    if stored.record is not None:
        say(f"Kept as {stored.name}.")


def _points(stored: Stored, options: Options, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return what stands beside a run in its page; nothing where the database cannot be read."""
    if stored.record is None:
        return []
    try:
        return Archive(options.runs or default_runs()).points(stored.record)
    except EngrainError as error:
        say(f"The page has no other runs beside this one: {error.message}")
        return []


def document(stored: Stored) -> dict[str, Any]:
    """The figures of a run for programs; `suite` holds what the suite itself has to say."""
    return {
        "suite": stored.document,
        "run": stored.record.plain() if stored.record else None,
        "parts": [_plain(summary) for summary in summaries(stored)],
    }


def _plain(summary: Summary) -> dict[str, Any]:
    return {
        **asdict(summary.part),
        "figures": [_figure(figure) for figure in summary.figures],
        "latency_ms": asdict(summary.latency) if summary.latency else None,
        "queries_per_s": summary.queries_per_s,
        "tokens": summary.tokens,
        "verdict": summary.verdict,
        "speed_verdict": summary.speed_verdict,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    """`all` may be a category as well: `is_headline` tells them apart."""
    is_headline = figure.category == HEADLINE
    return {**asdict(figure), "category": ALL if is_headline else figure.category, "is_headline": is_headline}


def _numbers(value: Any) -> Any:  # noqa: ANN401, RUF100 - whatever a document holds
    """JSON has no word for what is not a number: null."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_numbers(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
