"""Labelled collections. None of the public ones is in this repository."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evals.datasets.beir import read_cosqa, read_scifact
from evals.datasets.collection import Aim, Collection, Question, Text
from evals.datasets.conversations import (
    read_beam,
    read_locomo,
    read_locomo_plus,
    read_longmemeval,
    read_longmemeval_pooled,
)
from evals.datasets.own import read_own

READERS: Mapping[str, tuple[str, Callable[[Path], Collection]]] = {
    "locomo": ("locomo", read_locomo),
    "longmemeval": ("longmemeval", read_longmemeval),
    "longmemeval-pooled": ("longmemeval", read_longmemeval_pooled),
    "scifact": ("scifact", read_scifact),
    "cosqa": ("cosqa", read_cosqa),
    "beam": ("beam", read_beam),
    "locomo-plus": ("locomo-plus", read_locomo_plus),
}
"""Subfolder and reader by name."""
