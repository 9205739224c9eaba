"""Asks one question after the other, and keeps every answer as it comes: an interrupted run asks nothing twice."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evals.harness.server import Target
from evals.results import Case, Part
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


def close_part(journal: Journal, target: Target, part: Part) -> None:
    """Keep a part whose questions are all answered, with what asking took and what its server takes of memory."""
    resident_mb, peak_mb = target.memory_mb()
    seconds = journal.asking_s(part.set, part.arm)
    journal.close_part(replace(part, asking_s=seconds, resident_mb=resident_mb, peak_mb=peak_mb))
