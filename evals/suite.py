"""The interface between suites and the code that runs them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evals.results import Case
from evals.runs import Journal


@dataclass(frozen=True, slots=True)
class Prepared:
    """A suite whose data are read and checked, before anything is started."""

    data: Mapping[str, str]
    """A hash of each set."""
    measure: Callable[[Journal], None]
    """Add cases and parts; answers that the journal has are not asked for again."""
    command: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def ask_missing(journal: Journal, questions: Mapping[tuple[str, str, str], Callable[[], Case]]) -> None:
    """Ask what the journal has no answer to; questions stand by the keys of their cases."""
    for key, ask in questions.items():
        if key not in journal.cases:
            journal.add(ask())
