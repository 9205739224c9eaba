"""The suites, and how each is run, kept and reported."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evals.harness.retrieval import prepare as prepare_retrieval
from evals.harness.server import stoppable
from evals.reflection.labelled_notes import prepare as prepare_reflection
from evals.release_notes.labelled_ranges import prepare as prepare_release_notes
from evals.report import markdown, missed
from evals.runs import NAMES, Journal, Options, Prepared, default_runs, new_record
from stores.errors import EngrainError

FELL_SHORT, NOTHING_TO_MEASURE, INTERRUPTED = 1, 2, 130
Say = Callable[[str], None]


class Suite(NamedTuple):
    prepare: Callable[[Options], Prepared]
    takes: frozenset[str]
    """Names of its options."""
    summary: str


SUITES: Mapping[str, Suite] = {
    "retrieval": Suite(
        prepare_retrieval, NAMES,
        "Measure searches and recalls on labelled sets, over REST, against a server that is started for it.",
    ),
    "reflection": Suite(
        prepare_reflection, frozenset({"runs", "name", "server"}),
        "Measure the findings of reflection in labelled notes.",
    ),
    "release-notes": Suite(
        prepare_release_notes, frozenset({"runs", "name", "data"}),
        "Measure what release notes of public repositories call breaking.",
    ),
}  # fmt: skip


def run_suite(name: str, options: Options, say: Say) -> int:
    """Measure, keep and report; return the exit code."""
    try:
        prepare, takes, _ = SUITES[name]
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
