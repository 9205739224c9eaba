"""The suites, and how each is run, kept and reported."""

from collections.abc import Callable, Mapping
from typing import Any

from evals.comparison import missed
from evals.harness.run import prepare as prepare_retrieval
from evals.options import NAMES, Options
from evals.reflection.run import prepare as prepare_reflection
from evals.release_notes.run import prepare as prepare_release_notes
from evals.report import markdown
from evals.runs import Journal, Prepared, Run, default_runs, new_record
from evals.stopping import stoppable
from stores.errors import EngrainError

FELL_SHORT, NOTHING_TO_MEASURE, INTERRUPTED = 1, 2, 130
Say = Callable[[str], None]


SUITES: Mapping[str, tuple[Callable[[Options], Prepared], frozenset[str]]] = {
    "retrieval": (prepare_retrieval, NAMES),
    "reflection": (prepare_reflection, frozenset({"runs", "name", "server"})),
    "release-notes": (prepare_release_notes, frozenset({"runs", "name", "data"})),
}
"""Preparation and options by name; `cli/evaluation.py` has their commands."""


def run_suite(name: str, options: Options, say: Say) -> int:
    """Measure, keep and report; return the exit code."""
    try:
        prepare, takes = SUITES[name]
        if wrong := options.changed() - takes:
            raise EngrainError(f"The suite {name} takes no {', '.join(sorted(wrong))}.")
        run = _measure(name, options, prepare(options), say)
        if run is None:
            return INTERRUPTED
        say(markdown(run))
        failures = missed(run) if options.strict else []
    except EngrainError as error:
        say(error.message)
        return NOTHING_TO_MEASURE
    for failure in failures:
        say(failure)
    return FELL_SHORT if failures else 0


def _measure(name: str, options: Options, prepared: Prepared, say: Say) -> Run | None:
    settings: dict[str, Any] = {"server": dict(options.server), **prepared.settings}
    record = new_record(name, {**prepared.command, "name": options.name}, prepared.data, settings)
    journal = Journal.begin(options.runs or default_runs(), record)
    if journal.cases:
        say(f"Resuming {journal.folder.name}, which has {len(journal.cases)} answers.")
    kept = f"The same command resumes {journal.folder.name} after its last finished set and arm."
    try:
        with stoppable():
            prepared.measure(journal)
        return journal.finish()
    except KeyboardInterrupt:
        say(f"Interrupted. {kept}")
        return None
    except (EngrainError, OSError) as error:
        reason = error.message if isinstance(error, EngrainError) else f"{error}."
        raise EngrainError(f"{reason} {kept}") from error
