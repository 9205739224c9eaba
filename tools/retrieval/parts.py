"""The parts of a ranking that a server can leave out, to measure what they add."""

from typing import Literal

Part = Literal[
    "alike",
    "brought",
    "code",
    "coverage",
    "days",
    "exact",
    "names",
    "speakers",
    "splits",
    "stems",
    "threads",
    "tokens",
]
"""What a ranking heeds beside words, meaning, relations and ages, and how it reads words; `docs/retrieval.md` has what
each adds. `exact`, `splits` and `stems` are steps of the analysis, for which indexes of words are built anew."""
