"""Rules that find what is worth keeping in session notes: text in, findings out."""

from tools.reflection.contradiction import contradicts
from tools.reflection.extract import extract
from tools.reflection.finding import KINDS, SENSITIVITIES, Finding, Kind, Sensitivity
from tools.reflection.sensitivity import sensitivity_flags
from tools.reflection.similarity import CERTAIN, Duplicate, duplicates_of

__all__ = [
    "CERTAIN",
    "KINDS",
    "SENSITIVITIES",
    "Duplicate",
    "Finding",
    "Kind",
    "Sensitivity",
    "contradicts",
    "duplicates_of",
    "extract",
    "sensitivity_flags",
]
