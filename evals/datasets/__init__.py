"""Labelled collections. None of the public ones is in this repository."""

from collections.abc import Callable, Mapping
from pathlib import Path

from evals.datasets import beir, conversations
from evals.datasets.collection import Aim, Collection, Question, Text
from evals.datasets.own import read_own

READERS: Mapping[str, tuple[str, Callable[[Path], Collection]]] = {
    "locomo": ("locomo", conversations.read_locomo),
    "longmemeval": ("longmemeval", conversations.read_longmemeval),
    "longmemeval-pooled": ("longmemeval", conversations.read_longmemeval_pooled),
    "scifact": ("scifact", beir.read_scifact),
    "cosqa": ("cosqa", beir.read_cosqa),
    "beam": ("beam", conversations.read_beam),
    "locomo-plus": ("locomo-plus", conversations.read_locomo_plus),
}
"""Subfolder and reader by name."""
