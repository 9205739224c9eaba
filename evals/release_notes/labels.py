"""Reads the labels: which commits a person would call breaking, and which are the most visible features."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["breaking", "debatable", "feature"]
"""Of what is debatable, neither finding it as breaking nor missing it counts."""
KINDS: tuple[Kind, ...] = get_args(Kind)
LABELS = Path(__file__).with_name("labels.jsonl")
LENGTH = 8
"""Characters of a sha."""


@dataclass(frozen=True, slots=True)
class Label:
    """One thing that happened, the commits any of which stands for it, and a word that says what it is."""

    kind: Kind
    commits: tuple[str, ...]
    word: str


@dataclass(frozen=True, slots=True)
class Project:
    """The labels of one project; what is `held out` was never tuned on."""

    name: str
    split: str
    labels: tuple[Label, ...]

    def of(self, kind: Kind) -> Sequence[Label]:
        """Return the labels of one kind."""
        return [label for label in self.labels if label.kind == kind]


def read_labels(path: Path = LABELS) -> list[Project]:
    """Return the projects in the order of the file.

    Raises:
        ValueError: A label is of an unknown kind, or names a commit by something else than eight characters.
    """
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    for row in rows:
        if row["label"] not in KINDS or not row["commits"] or any(len(sha) != LENGTH for sha in row["commits"]):
            raise ValueError(f"{row['project']}: {row['word']!r} is no label.")
    names = dict.fromkeys((row["project"], row["split"]) for row in rows)
    return [
        Project(
            name,
            split,
            tuple(Label(row["label"], tuple(row["commits"]), row["word"]) for row in rows if row["project"] == name),
        )
        for name, split in names
    ]
