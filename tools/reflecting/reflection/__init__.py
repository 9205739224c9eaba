"""Rules that find decisions, tasks and the like in session notes."""

from tools.reflecting.reflection.contradiction import contradicts
from tools.reflecting.reflection.extract import extract
from tools.reflecting.reflection.finding import KINDS, SENSITIVITIES, Finding, Kind, Sensitivity, sensitivity_flags
from tools.reflecting.reflection.similarity import CERTAIN, Duplicate, duplicates_of

__all__ = [
    "CERTAIN", "KINDS", "SENSITIVITIES", "Duplicate", "Finding", "Kind", "Sensitivity", "contradicts", "duplicates_of",
    "extract", "sensitivity_flags",
]  # fmt: skip
