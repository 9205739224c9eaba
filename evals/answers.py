"""Asks one question after the other, and keeps every answer as it comes: an interrupted run asks nothing twice."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from evals.results import Case
from evals.runs import Journal

Ask = Callable[[], tuple[Case, Mapping[str, Any]]]
"""Asks, and returns the case with what the suite has to know of the answer besides, as an object of JSON."""


def ask_missing(journal: Journal, questions: Mapping[tuple[str, str, str], Ask]) -> None:
    """Ask what the journal has no answer to; the questions stand by the keys of their cases."""
    before = time.perf_counter()
    for key, ask in questions.items():
        if key in journal.cases:
            continue
        case, beside = ask()
        now = time.perf_counter()
        journal.add(case, now - before, beside)
        before = now
