"""Compares what was found in a replay with the labels of its project."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evals.reflection.scoring import Score
from evals.release_notes.labels import Label, Project
from evals.release_notes.notes import Change

WITHIN = 30
"""A feature counts as found when it is among so many changes, three times the labels, beside those that break."""


@dataclass(frozen=True, slots=True)
class Result:
    """How one project did.

    Attributes:
        told: Changes that notes list as new, improved or fixed, beside those that break.
        debatable: Changes called breaking of which the labels say that one may see it either way.
        surprises: What was called breaking and is not, and what is and was not; and features that came too late.
    """

    project: str
    split: str
    commits: int
    told: int
    breaking: Score
    debatable: int
    features: Score
    surprises: tuple[str, ...]
    judged: tuple["Judged", ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """One label, or one change that was called breaking, and whether it is right."""

    id: str
    what: Literal["breaking label", "called breaking", "feature label"]
    right: bool
    text: str


def score(project: Project, changes: Sequence[Change], originals: Mapping[str, str]) -> Result:
    """Count. `changes` come in the order of the notes; `originals` gives the labels' shas for those of the replay."""
    found = [({originals.get(sha, "") for sha in change.commits}, change) for change in changes]
    called = [(shas, change) for shas, change in found if change.breaking]
    told = [(shas, change) for shas, change in found if not change.breaking]
    wanted, either = project.of("breaking"), project.of("debatable")
    met = [label for label in wanted if _met(label, called)]
    unlabelled = [(shas, change) for shas, change in called if not _meets(shas, wanted)]
    wrong = [change for shas, change in unlabelled if not _meets(shas, either)]
    early = [label for label in project.of("feature") if _met(label, [*told[:WITHIN], *called])]
    surprises = [f"not breaking: {change.text}" for change in wrong]
    surprises += [f"breaking, and missed: {label.commits[0]} {label.word}" for label in wanted if label not in met]
    surprises += [
        f"feature at place {_place(label, told) or 'none'}: {label.commits[0]} {label.word}"
        for label in project.of("feature")
        if label not in early
    ]
    return Result(
        project=project.name,
        split=project.split,
        commits=len(originals),
        told=len(told),
        breaking=Score(len(met), len(wrong), len(wanted) - len(met)),
        debatable=len(unlabelled) - len(wrong),
        features=Score(len(early), 0, len(project.of("feature")) - len(early)),
        surprises=tuple(surprises),
        judged=(
            *(Judged(label.commits[0], "breaking label", label in met, label.word) for label in wanted),
            *(Judged(_id(change), "called breaking", change not in wrong, change.text) for _, change in called
              if change in wrong or _meets({originals.get(sha, "") for sha in change.commits}, wanted)),
            *(Judged(each.commits[0], "feature label", each in early, each.word) for each in project.of("feature")),
        ),
    )  # fmt: skip


def _id(change: Change) -> str:
    """The same in every replay, as the shas of the copies are not."""
    return hashlib.sha256(change.text.encode()).hexdigest()[:12]


def _meets(shas: set[str], labels: Sequence[Label]) -> bool:
    return any(shas & set(label.commits) for label in labels)


def _met(label: Label, found: Sequence[tuple[set[str], Change]]) -> bool:
    return any(shas & set(label.commits) for shas, _ in found)


def _place(label: Label, found: Sequence[tuple[set[str], Change]]) -> int:
    return next((number for number, (shas, _) in enumerate(found, start=1) if shas & set(label.commits)), 0)
