"""The interface between suites and their runner."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evals.results import Case
from evals.runs import Journal


@dataclass(frozen=True, slots=True)
class Prepared:
    """A suite with its data read and checked."""

    data: Mapping[str, str]
    """Hash by set."""
    measure: Callable[[Journal], None]
    """Add cases and parts, without those in the journal."""
    command: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def ask_missing(journal: Journal, questions: Mapping[tuple[str, str, str], Callable[[], Case]]) -> None:
    """Ask what the journal lacks; questions stand by case key."""
    for key, ask in questions.items():
        if key not in journal.cases:
            journal.add(ask())
