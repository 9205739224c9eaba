"""The suites, and how each is run, kept and reported."""

from collections.abc import Callable, Mapping
from typing import Any

from evals.harness.run import prepare as prepare_retrieval
from evals.harness.server import stoppable
from evals.reflection.run import prepare as prepare_reflection
from evals.release_notes.run import prepare as prepare_release_notes
from evals.report import markdown, missed
from evals.runs import NAMES, Journal, Options, Prepared, default_runs, new_record
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
        prepared = prepare(options)
        settings: dict[str, Any] = {"server": dict(options.server), **prepared.settings}
        record = new_record(name, {**prepared.command, "name": options.name}, prepared.data, settings)
        journal = Journal(options.runs or default_runs(), record)
        with stoppable():
            prepared.measure(journal)
        run = journal.finish()
        say(markdown(run))
        failures = missed(run) if options.strict else []
    except KeyboardInterrupt:
        say("Interrupted: nothing was kept.")
        return INTERRUPTED
    except (EngrainError, OSError) as error:
        say(error.message if isinstance(error, EngrainError) else f"{error}.")
        return NOTHING_TO_MEASURE
    for failure in failures:
        say(failure)
    return FELL_SHORT if failures else 0
