"""Labelled collections for measuring retrieval, read from a folder that the user names. None is in this repository."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evals.datasets.beir import read_cosqa, read_scifact
from evals.datasets.collection import Collection, Question, Text
from evals.datasets.locomo import read_locomo
from evals.datasets.longmemeval import read_longmemeval

READERS: Mapping[str, Callable[[Path], Collection]] = {
    "scifact": read_scifact,
    "cosqa": read_cosqa,
    "locomo": read_locomo,
    "longmemeval": read_longmemeval,
}
"""The collections by name; each reads the subfolder of that name."""

__all__ = ["READERS", "Collection", "Question", "Text"]
