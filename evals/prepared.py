"""A suite that is ready to begin: what tells its runs apart, and how it is measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evals.machine import Subject
from evals.results import Outcome
from evals.runs import Journal


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was asked for, read and checked, before anything is started."""

    command: Mapping[str, Any]
    settings: Mapping[str, Any]
    data: Mapping[str, str]
    """A hash of each set."""
    measure: Callable[[Journal], Outcome]
    """Answers that the journal has are not asked for again."""
    subject: Subject | None = None
    """What is measured; without it, this checkout on this machine with the model that the settings name."""
