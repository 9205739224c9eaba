"""Compare two runs question by question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evals.markdown import table
from evals.metrics import Difference, compared
from evals.report import HEADLINE, ONE_CLUSTER, by_category, clusters_of, shown, titled
from evals.results import Case
from evals.runs import Run
from stores.errors import EngrainError

Pairs = Sequence[tuple[Case, Case]]
Groups = Mapping[tuple[str, tuple[str, str]], Pairs]
"""Paired cases by set and arms."""


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of a set over the common cases."""

    set: str
    arms: tuple[str, str]
    category: str
    measure: str
    n: int
    before: float
    after: float
    difference: Difference
    is_headline: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """All measures of all common sets; remarks name omitted cases and changed circumstances."""

    before: str
    after: str
    lines: Sequence[Line]
    remarks: Sequence[str]


def compare(before: Run, after: Run, arms: tuple[str, str] | None = None) -> Comparison:
    """Pair the cases of two runs by set, arm and id; with `arms`, one arm of each.

    Raises:
        EngrainError: They share no case, or one lacks its arm.
    """
    for run, arm in zip((before, after), arms or (), strict=False):
        if arm not in (there := dict.fromkeys(case.arm for case in run.cases)):
            raise EngrainError(f"{run.name} has no arm {arm}; it has {', '.join(there)}.")
    groups, remarks = _paired(before, after, arms)
    if not groups:
        raise EngrainError(f"{before.name} and {after.name} have no case in common: other sets, arms or data.")
    judged = {part.set: part.measure for part in (*after.parts, *before.parts)}
    lines = [
        line for (name, pair), pairs in groups.items() for line in _lines((name, pair), pairs, judged.get(name, ""))
    ]
    changed = [name for name in before.data if after.data.get(name, before.data[name]) != before.data[name]]
    remarks += [f"The data of {name} are not the same." for name in changed]
    if before.record and after.record:
        remarks += [f"{each}." for each in before.record.differences(after.record) if not each.startswith("data ")]
    return Comparison(before.name, after.name, lines, remarks)


def _paired(before: Run, after: Run, arms: tuple[str, str] | None) -> tuple[Groups, list[str]]:
    first = {case.key: case for case in before.cases if arms is None or case.arm == arms[0]}
    groups: dict[tuple[str, tuple[str, str]], list[tuple[Case, Case]]] = {}
    alone = 0
    for case in after.cases:
        if arms is not None and case.arm != arms[1]:
            continue
        arm = (arms[0] if arms else case.arm, case.arm)
        other = first.pop((case.set, arm[0], case.id), None)
        if other is None:
            alone += 1
        else:
            groups.setdefault((case.set, arm), []).append((other, case))
    remarks = [
        f"{count} cases of {one.name} are not in {two.name} and were left out."
        for count, one, two in ((alone, after, before), (len(first), before, after))
        if count
    ]
    if changed := sum(dict(old.wanted) != dict(new.wanted) for pairs in groups.values() for old, new in pairs):
        remarks.append(f"{changed} cases are judged otherwise in the two runs.")
    return dict(groups), remarks


def _lines(key: tuple[str, tuple[str, str]], pairs: Pairs, judged_by: str) -> list[Line]:
    old = {new.id: old for old, new in pairs}
    lines = []
    for category, group in by_category([new for _, new in pairs]).items():
        both = [(old[case.id], case) for case in group]
        shared = dict.fromkeys(name for one, two in both for name in two.values if name in one.values)
        for measure in shared if category == HEADLINE else [name for name in shared if name == judged_by]:
            having = [(one, two) for one, two in both if measure in one.values and measure in two.values]
            before, after = ([case.values[measure] for case in side] for side in zip(*having, strict=True))
            difference = compared(before, after, clusters_of([case for _, case in having]))
            means = sum(before) / len(before), sum(after) / len(after)
            is_headline = category == HEADLINE and measure == judged_by
            lines.append(Line(*key, category, measure, len(having), *means, difference, is_headline))
    return sorted(lines, key=lambda line: (not line.is_headline, line.category != HEADLINE, line.category))


def markdown(comparison: Comparison) -> str:
    columns = (
        "set", "arm", "category", "measure", "n", "clusters", "before", "after", "difference [95 %]", "verdict",
    )  # fmt: skip
    rows = [_row(line) for line in comparison.lines]
    notes = ["Paired by question; intervals by a bootstrap over clusters."]
    if any(line.difference.interval.over_values for line in comparison.lines):
        notes.append(ONE_CLUSTER)
    head = f"# {comparison.before} before, {comparison.after} after"
    return "\n\n".join([head, table(columns, rows), " ".join([*notes, *comparison.remarks])])


def _row(line: Line) -> list[str]:
    arms = line.arms[0] if line.arms[0] == line.arms[1] else " / ".join(line.arms)
    return [
        line.set, arms, titled(line.category), line.measure, str(line.n), str(line.difference.clusters),
        f"{line.before:.3f}", f"{line.after:.3f}", shown(line.difference.interval, signed=True),
        line.difference.verdict,
    ]  # fmt: skip
