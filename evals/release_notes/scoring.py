"""Score listed changes against labels."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from evals.release_notes.labels import Label, Project
from evals.release_notes.notes import Change
from evals.results import Case

WITHIN = 30
"""Rank that a feature must reach, breaking changes aside: three times the labels."""
SET, ARM = "release-notes", "rules"


def cases(project: Project, changes: Sequence[Change], originals: Mapping[str, str]) -> Iterator[Case]:
    """Yield a case for each label and each undebatable breaking change of the notes.

    `originals` maps shas of the replay to those of the labels.
    """
    shas = {change: {originals.get(sha, "") for sha in change.commits} for change in changes}
    called = [change for change in changes if change.breaking]
    first = [change for change in changes if not change.breaking][:WITHIN]

    def met(label: Label, among: Sequence[Change]) -> bool:
        return any(shas[change].intersection(label.commits) for change in among)

    def case(what: str, name: str, text: str, *, right: bool) -> Case:
        return Case(
            SET, ARM, "change", f"{project.name} {what} {name}", {"right": float(right)}, project.name,
            f"{what}, {project.split}", question=text,
        )  # fmt: skip

    wanted, debatable = project.of("breaking"), project.of("debatable")
    for label in wanted:
        yield case("breaking recall", label.commits[0], label.word, right=met(label, called))
    for change in called:
        is_wanted = any(met(label, [change]) for label in wanted)
        if is_wanted or not any(met(label, [change]) for label in debatable):
            # The text, as shas differ from replay to replay.
            name = hashlib.sha256(change.text.encode()).hexdigest()[:12]
            yield case("breaking precision", name, change.text, right=is_wanted)
    for label in project.of("feature"):
        yield case("feature recall", label.commits[0], label.word, right=met(label, [*first, *called]))
