"""Labelled collections for measuring retrieval, read from where the user says."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evals.datasets.beir import read_cosqa, read_scifact
from evals.datasets.collection import Aim, Collection, Question, Text
from evals.datasets.locomo import read_locomo
from evals.datasets.longmemeval import read_longmemeval, read_longmemeval_pooled
from evals.datasets.own import Problem, check_file, read_own

Reader = Callable[[Path], Collection]

READERS: Mapping[str, tuple[str, Reader]] = {
    "locomo": ("locomo", read_locomo),
    "longmemeval": ("longmemeval", read_longmemeval),
    "longmemeval-pooled": ("longmemeval", read_longmemeval_pooled),
    "scifact": ("scifact", read_scifact),
    "cosqa": ("cosqa", read_cosqa),
}
"""The public collections by name: the subfolder that holds them, and what reads it. None is in this repository."""

__all__ = ["READERS", "Aim", "Collection", "Problem", "Question", "Reader", "Text", "check_file", "read_own"]
