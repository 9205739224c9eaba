"""Two runs beside each other: differences on the same cases, with intervals and how likely chance alone gives them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evals.machine import UNKNOWN
from evals.metrics import Difference, areas_compared, compared
from evals.reports.figures import HEADLINE, clusters_of, scores_of, summaries, titled
from evals.reports.tables import ONE_CLUSTER, Table, signed
from evals.results import SEPARATION, Case, answered_beside
from evals.runs import Stored
from stores.errors import EngrainError

Pairs = Sequence[tuple[Case, Case]]
Groups = Mapping[tuple[str, tuple[str, str]], Pairs]
"""By set and by the arms that are compared."""
_MACHINE = ("system", "processor", "cores")
"""What is compared of machines, beside instructions."""
_DIGEST = re.compile(r"[0-9a-f]{32,}")


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of one set, over the cases that both runs have."""

    set: str
    arms: tuple[str, str]
    category: str
    measure: str
    n: int
    before: float
    after: float
    difference: Difference
    is_headline: bool
    """Whether it is the measure that the set is judged by, over everything that is not apart."""

    @property
    def verdict(self) -> str:
        """What can be said of it."""
        if self.difference.is_undecidable:
            return "too few clusters to say"
        return "worse" if self.difference.is_lower else "better" if self.difference.is_higher else "no difference seen"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All measures of all sets that two runs share."""

    before: str
    after: str
    lines: Sequence[Line]
    remarks: Sequence[str]
    """What was left out, and what may explain a difference besides the product."""


def compare(before: Stored, after: Stored, arms: tuple[str, str] | None = None) -> Comparison:
    """Pair the cases of two runs by set, arm and id; with `arms`, one arm of the first with one of the second.

    Raises:
        EngrainError: They have no case in common, or one has no such arm.
    """
    for run, arm in zip((before, after), arms or (), strict=False):
        if arm not in (there := dict.fromkeys(case.arm for case in run.cases)):
            raise EngrainError(f"{run.name} has no arm {arm}; it has {', '.join(there)}.")
    groups, remarks = _paired(before, after, arms)
    if not groups:
        raise EngrainError(f"{before.name} and {after.name} have no case in common: other sets, arms or data.")
    judged, otherwise = _judged(before, after, groups)
    lines = [
        line
        for (name, arm), pairs in groups.items()
        for line in _lines(name, arm, pairs, judged[name], groups.get((answered_beside(name), arm), ()))
    ]
    known = {part.set for part in (*before.parts, *after.parts)}
    remarks += [
        f"By what {name} is judged is not known: {judged[name]} is taken." for name in judged if name not in known
    ]
    return Comparison(before.name, after.name, lines, [*remarks, *otherwise, *_changes(before, after)])


def _judged(before: Stored, after: Stored, groups: Groups) -> tuple[dict[str, str], list[str]]:
    """Return by which measure each set is judged, and where the runs differ in that.

    It is what the earlier run says, or the later; else a guess: a run does not choose what it is judged by.
    """
    guessed = {each.part.set: each.part.measure for each in summaries(after)}
    first, second = ({part.set: part.measure for part in run.parts} for run in (before, after))
    judged = {name: first.get(name) or second.get(name, guessed[name]) for name, _ in groups}
    return judged, [
        f"{name} is judged by {judged[name]}, as in {before.name}; in {after.name} it is by {second[name]}."
        for name in judged
        if second.get(name, judged[name]) != judged[name]
    ]


def _paired(before: Stored, after: Stored, arms: tuple[str, str] | None) -> tuple[Groups, list[str]]:
    first = {case.key: case for case in before.cases}
    groups: dict[tuple[str, tuple[str, str]], list[tuple[Case, Case]]] = {}
    alone = 0
    for case in after.cases:
        if arms is not None and case.arm != arms[1]:
            continue
        arm = (arms[0] if arms else case.arm, case.arm)
        other = first.get((case.set, arm[0], case.id))
        if other is None:
            alone += 1
        else:
            groups.setdefault((case.set, arm), []).append((other, case))
    paired = {old.key for pairs in groups.values() for old, _ in pairs}
    left = sum(key not in paired and (arms is None or key[1] == arms[0]) for key in first)
    remarks = [
        f"{count} cases of {one.name} are not in {other.name} and were left out."
        for count, one, other in ((alone, after, before), (left, before, after))
        if count
    ]
    if changed := sum(dict(a.wanted) != dict(b.wanted) for pairs in groups.values() for a, b in pairs):
        remarks.append(f"{changed} cases are judged otherwise in the two runs.")
    return dict(groups), remarks


def _lines(name: str, arms: tuple[str, str], pairs: Pairs, judged_by: str, answered: Pairs) -> list[Line]:
    groups: dict[str, list[tuple[Case, Case]]] = {HEADLINE: [pair for pair in pairs if not pair[1].apart]}
    for pair in pairs:
        if pair[1].category:
            groups.setdefault(pair[1].category, []).append(pair)
    lines = []
    for category, group in groups.items():
        for measure in dict.fromkeys(measure for _, case in group for measure in case.values):
            both = [pair for pair in group if measure in pair[0].values and measure in pair[1].values]
            if not both or (category != HEADLINE and measure != judged_by):
                continue
            mean, difference = _differ(measure, both, answered)
            is_headline = category == HEADLINE and measure == judged_by
            lines.append(Line(name, arms, category, measure, len(both), *mean, difference, is_headline))
    return sorted(lines, key=lambda line: (not line.is_headline, line.category != HEADLINE, line.category))


def _differ(measure: str, pairs: Pairs, answered: Pairs) -> tuple[tuple[float, float], Difference]:
    """Return what a measure is in either run, and the difference; `answered` is what an AUROC is held against."""
    sides: list[list[Case]] = [list(side) for side in zip(*pairs, strict=True)]
    old, new = ([case.values[measure] for case in side] for side in sides)
    if measure == SEPARATION:
        against = [pair for pair in answered if not pair[1].apart]
        told = [scores_of(side, [pair[run] for pair in against]) for run, side in enumerate(sides)]
        if told[0] and told[1]:
            return areas_compared(told[0], told[1])
    return (sum(old) / len(old), sum(new) / len(new)), compared(old, new, clusters_of(sides[1]))


def _changes(before: Stored, after: Stored) -> list[str]:
    """What else is not the same."""
    if before.record is None or after.record is None:
        # Of a file no more is known than which data it was measured on, and by which instructions, at most.
        shared = [name for name in before.data if after.data.get(name, before.data[name]) != before.data[name]]
        pair = [{name: run.data[name] for name in shared} for run in (before, after)]
        told = [_differing("data", *pair)] if shared else []
        old, new = before.instructions, after.instructions
        return [*told, *([_differing("instructions", old, new)] if old and new and old != new else [])]
    differs = before.record.differences(after.record)
    both = before.data.keys() & after.data.keys()
    if both and all(before.data[name] == after.data[name] for name in both):
        # What only one of them asked is told by the cases that were left out.
        differs = {name: pair for name, pair in differs.items() if name != "data"}
    shown = {name: pair for name, pair in differs.items() if name not in ("commit", "version")}
    machines = [{name: record.machine.get(name) for name in _MACHINE} for record in (before.record, after.record)]
    if machines[0] != machines[1]:
        shown["machine"] = (machines[0], machines[1])
    return [_differing(name, old, new) for name, (old, new) in shown.items()]


def _differing(name: str, old: object, new: object) -> str:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        sides = dict(_flat(old)), dict(_flat(new))
        # Of much that is the same, only what differs.
        names = [each for each in sides[0] | sides[1] if sides[0].get(each) != sides[1].get(each)]
        old, new = (", ".join(f"{each} {side.get(each, UNKNOWN)}" for each in names) for side in sides)
    return f"{name} is not the same: {old} before, {new} after."


def _flat(told: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Name what is within something by both names; digests are cut to what tells them apart."""
    for name, each in told.items():
        if isinstance(each, Mapping):
            yield from ((f"{name} {inner}", value) for inner, value in _flat(each))
        else:
            yield name, str(each)[:16] if _DIGEST.fullmatch(str(each)) else str(each)


def as_table(comparison: Comparison) -> Table:
    """Lay a comparison out."""
    columns = (
        "set", "arm", "category", "measure", "n", "clusters", "before", "after", "difference [95 %]", "p", "verdict",
    )  # fmt: skip
    rows = [_row(line) for line in comparison.lines]
    remarks = " ".join(comparison.remarks)
    alone = ONE_CLUSTER if any(line.difference.interval.over_values for line in comparison.lines) else ""
    note = (
        "Paired by question; intervals by a bootstrap over clusters, p by randomization over clusters, two-sided. With"
        f" k clusters p cannot be below 2 / 2^k. {alone} {remarks}"
    )
    return Table(f"{comparison.before} before, {comparison.after} after", columns, rows, " ".join(note.split()))


def _chance(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}"


def _row(line: Line) -> list[str]:
    interval, arms = line.difference.interval, line.arms
    return [
        line.set, arms[0] if arms[0] == arms[1] else f"{arms[0]} / {arms[1]}", titled(line.category), line.measure,
        str(line.n), str(line.difference.clusters), f"{line.before:.3f}", f"{line.after:.3f}",
        signed(interval), _chance(line.difference.p), line.verdict,
    ]  # fmt: skip
