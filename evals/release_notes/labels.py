"""Labels of commits: breaking, debatable, and most visible features."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from evals.datasets.collection import json_lines

Kind = Literal["breaking", "debatable", "feature"]
"""Debatable commits count neither way."""
LABELS = Path(__file__).with_name("labels.jsonl")
LENGTH = 8
"""Characters of a sha."""


@dataclass(frozen=True, slots=True)
class Label:
    """A change; any of its commits stands for it."""

    kind: Kind
    commits: tuple[str, ...]
    word: str


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    split: str
    labels: tuple[Label, ...]

    def of(self, kind: Kind) -> list[Label]:
        return [label for label in self.labels if label.kind == kind]


def read_labels(path: Path = LABELS) -> list[Project]:
    """Return the projects.

    Raises:
        ValueError: A kind or sha is invalid.
    """
    projects: dict[tuple[str, str], list[Label]] = {}
    for row in json_lines(path):
        if row["label"] not in get_args(Kind) or {len(sha) for sha in row["commits"]} != {LENGTH}:
            raise ValueError(f"{row['project']}: {row['word']!r} is no label.")
        label = Label(row["label"], tuple(row["commits"]), row["word"])
        projects.setdefault((row["project"], row["split"]), []).append(label)
    return [Project(*key, tuple(labels)) for key, labels in projects.items()]
