"""The Markdown report of a run; comparisons of two runs question by question, with a baseline and with floors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isnan
from statistics import fmean

from evals.machine import Spread, spread
from evals.metrics import Interval, bootstrap
from evals.runs import Case, Part, Record, Run
from stores.errors import EngrainError

HEADLINE = ""
"""The category of everything that is not apart."""
ALL, NONE, MISSED = "(all)", "-", "MISSED"


@dataclass(frozen=True, slots=True)
class Summary:
    part: Part
    figures: Mapping[str, Mapping[str, Interval]]
    """Means by category, the headline first, and measure, the decisive one first."""
    latency: Spread | None
    tokens: float | None
    """Mean per answer."""

    @property
    def headline(self) -> Interval | None:
        return self.figures.get(HEADLINE, {}).get(self.part.measure)

    @property
    def verdict(self) -> str:
        found, part = self.headline, self.part
        if found is None or part.floor is None:
            return ""
        if part.goal is not None and found.mean >= part.goal:
            return "goal"
        return "passed" if found.mean >= part.floor else MISSED

    @property
    def speed_verdict(self) -> str:
        if self.part.p50_limit_ms is None or self.latency is None:
            return ""
        return "passed" if self.latency.p50 <= self.part.p50_limit_ms else MISSED


def summaries(run: Run) -> list[Summary]:
    cases: dict[tuple[str, str], list[Case]] = {}
    for case in run.cases:
        cases.setdefault((case.set, case.arm), []).append(case)
    return [_summary(part, cases[part.set, part.arm]) for part in run.parts if (part.set, part.arm) in cases]


def by_category(cases: Sequence[Case]) -> dict[str, list[Case]]:
    groups = {HEADLINE: [case for case in cases if not case.apart]}
    for case in cases:
        if case.category:
            groups.setdefault(case.category, []).append(case)
    return {name: group for name, group in groups.items() if group}


def clusters_of(cases: Sequence[Case]) -> list[str]:
    return [case.cluster or f"case {case.id}" for case in cases]


def shown(interval: Interval, *, signed: bool = False) -> str:
    values = (interval.low, interval.mean, interval.high)
    low, mean, high = (f"{value:+.3f}" if signed else digits(value) for value in values)
    return f"{mean} [{NONE}]" if isnan(interval.low) else f"{mean} [{low}, {high}]"


def digits(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if 0 <= value < 1 else f"{value:.2f}"


def markdown(run: Run) -> str:
    found = summaries(run)
    parts = [f"# Evaluation {run.name}", *([_facts(run.record)] if run.record else []), _targets(found)]
    parts += [_measures(name, found) for name in dict.fromkeys(each.part.set for each in found)]
    return "\n\n".join(parts)


def _summary(part: Part, cases: Sequence[Case]) -> Summary:
    figures = {}
    for category, group in by_category(cases).items():
        title = f"{category} (apart)" if all(case.apart for case in group) else category
        names = dict.fromkeys(name for case in group for name in case.values)
        figures[title] = {name: _mean(name, group) for name in sorted(names, key=lambda name: name != part.measure)}
    times = [case.took_ms for case in cases if case.took_ms is not None]
    tokens = [case.tokens for case in cases if case.tokens is not None]
    return Summary(part, figures, spread(times) if times else None, fmean(tokens) if tokens else None)


def _mean(measure: str, cases: Sequence[Case]) -> Interval:
    having = [case for case in cases if measure in case.values]
    return bootstrap([case.values[measure] for case in having], clusters_of(having))


def _targets(found: Sequence[Summary]) -> str:
    columns = (
        "set", "arm", "unit", "n", "texts", "measure", "mean [95 %]", "floor / goal", "verdict", "p50 ms", "p95 ms",
        "limit ms", "verdict", "tokens", "server MB",
    )  # fmt: skip
    rows = [_target_row(each, each.headline) for each in found if each.headline is not None]
    note = (
        "n counts the questions of the headline. Milliseconds are per query, from sending it to having the whole"
        " answer, with none for arms that ask for more than a client would; a token is four characters."
    )
    return f"{table(columns, rows)}\n\n{note}"


def _target_row(each: Summary, interval: Interval) -> list[str]:
    part, taken = each.part, each.latency
    aims = " / ".join(digits(aim) for aim in (part.floor, part.goal) if aim is not None)
    times = [f"{taken.p50:.1f}", f"{taken.p95:.1f}", _number(part.p50_limit_ms)] if taken else [NONE] * 3
    return [
        part.set, part.arm, part.unit, str(interval.n), _number(part.texts), part.measure, shown(interval),
        aims or NONE, each.verdict or NONE, *times, each.speed_verdict or NONE, _number(each.tokens),
        _number(part.resident_mb),
    ]  # fmt: skip


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


def _measures(name: str, found: Sequence[Summary]) -> str:
    same = [each for each in found if each.part.set == name]
    measures = list(dict.fromkeys(measure for each in same for values in each.figures.values() for measure in values))
    rows = []
    for each in same:
        for category, values in each.figures.items():
            first = next(iter(values.values()))
            cells = [shown(values[measure]) if measure in values else NONE for measure in measures]
            rows.append([each.part.arm, category or ALL, str(first.n), str(first.clusters), *cells])
    notes = [f"Unit: {same[0].part.unit}. Means over questions with 95 % intervals, bootstrapped over clusters."]
    notes += [f"- {each.part.arm}: {each.part.note}." for each in same if each.part.note]
    return f"## {name}\n\n{table(('arm', 'category', 'n', 'clusters', *measures), rows)}\n\n" + "\n".join(notes)


def _facts(record: Record) -> str:
    facts = {field.name: getattr(record, field.name) for field in fields(record) if field.name != "parts"}
    return "\n".join(f"- {name.replace('_', ' ')}: {_pairs(value) or NONE}" for name, value in facts.items())


def _pairs(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_pairs(each)}" for name, each in value.items() if each not in (None, "", {}))
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in (columns, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in cells]
    lines.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
    return "\n".join(lines)


Pairs = Sequence[tuple[Case, Case]]


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of a set over the common cases."""

    set: str
    arm: str
    category: str
    measure: str
    before: float
    after: float
    difference: Interval
    is_headline: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """All measures of all common sets; remarks name omitted cases and changed circumstances.

    `failures` and, with too few questions, `unjudged` are for a comparison with a baseline.
    """

    before: str
    after: str
    lines: Sequence[Line]
    remarks: Sequence[str]
    failures: Sequence[str] = ()
    unjudged: Sequence[str] = ()

    @property
    def is_open(self) -> bool:
        return not self.failures and not self.unjudged


def compare(before: Run, after: Run, arms: tuple[str, str] | None = None) -> Comparison:
    """Pair the cases of two runs by set, arm and id; with `arms`, one arm of each. EngrainError if there are none."""
    if arms is not None:
        name = " / ".join(dict.fromkeys(arms))
        before, after = _one_arm(before, arms[0], name), _one_arm(after, arms[1], name)
    groups, remarks = _paired(before, after)
    if not groups:
        raise EngrainError(f"{before.name} and {after.name} have no case in common: other sets, arms or data.")
    judged = {part.set: part.measure for part in (*after.parts, *before.parts)}
    lines = [line for key, pairs in groups.items() for line in _lines(key, pairs, judged.get(key[0], ""))]
    changed = [name for name in before.data if after.data.get(name, before.data[name]) != before.data[name]]
    remarks += [f"The data of {name} are not the same." for name in changed]
    return Comparison(before.name, after.name, lines, remarks)


def _one_arm(run: Run, arm: str, name: str) -> Run:
    cases = [replace(case, arm=name) for case in run.cases if case.arm == arm]
    if not cases:
        there = dict.fromkeys(case.arm for case in run.cases)
        raise EngrainError(f"{run.name} has no arm {arm}; it has {', '.join(there)}.")
    return replace(run, cases=cases)


def _paired(before: Run, after: Run) -> tuple[Mapping[tuple[str, str], Pairs], list[str]]:
    first = {case.key: case for case in before.cases}
    groups: dict[tuple[str, str], list[tuple[Case, Case]]] = {}
    for case in after.cases:
        if case.key in first:
            groups.setdefault((case.set, case.arm), []).append((first[case.key], case))
    common = sum(map(len, groups.values()))
    remarks = [
        f"{len(one.cases) - common} cases of {one.name} are not in {two.name} and were left out."
        for one, two in ((after, before), (before, after))
        if len(one.cases) > common
    ]
    if changed := sum(dict(old.wanted) != dict(new.wanted) for pairs in groups.values() for old, new in pairs):
        remarks.append(f"{changed} cases are judged otherwise in the two runs.")
    return groups, remarks


def _lines(key: tuple[str, str], pairs: Pairs, judged_by: str) -> list[Line]:
    old = {new.id: old for old, new in pairs}
    lines = []
    for category, group in by_category([new for _, new in pairs]).items():
        both = [(old[case.id], case) for case in group]
        shared = dict.fromkeys(name for one, two in both for name in two.values if name in one.values)
        for measure in shared if category == HEADLINE else [name for name in shared if name == judged_by]:
            having = [(one, two) for one, two in both if measure in one.values and measure in two.values]
            before, after = ([case.values[measure] for case in side] for side in zip(*having, strict=True))
            changes = [new - old for old, new in zip(before, after, strict=True)]
            difference = bootstrap(changes, clusters_of([case for _, case in having]))
            is_headline = category == HEADLINE and measure == judged_by
            lines.append(Line(*key, category, measure, fmean(before), fmean(after), difference, is_headline))
    return sorted(lines, key=lambda line: (not line.is_headline, line.category != HEADLINE, line.category))


def compared(comparison: Comparison) -> str:
    columns = (
        "set", "arm", "category", "measure", "n", "clusters", "before", "after", "difference [95 %]", "verdict",
    )  # fmt: skip
    rows = [_row(line) for line in comparison.lines]
    head = f"# {comparison.before} before, {comparison.after} after"
    notes = ["Paired by question; intervals by a bootstrap over clusters.", *comparison.remarks]
    return "\n\n".join([head, table(columns, rows), " ".join(notes)])


def _row(line: Line) -> list[str]:
    return [
        line.set, line.arm, line.category or ALL, line.measure, str(line.difference.n), str(line.difference.clusters),
        f"{line.before:.3f}", f"{line.after:.3f}", shown(line.difference, signed=True),
        line.difference.verdict,
    ]  # fmt: skip


FEWEST = 2
"""Fewest questions for a test."""


def judge(baseline: Run, run: Run) -> Comparison:
    """Compare the decisive measure of every set and arm of a baseline with a run; EngrainError as in `compare`.

    Fails if the 95 % interval of the paired difference lies below zero, or if cases are missing. Other measures do
    not decide: more tests mean more false alarms.
    """
    if baseline.record is not None and baseline.name == run.name:
        raise EngrainError(f"The baseline is the run {run.name} itself: name an earlier one, such as `latest~1`.")
    comparison = compare(baseline, run)
    headlines = [line for line in comparison.lines if line.is_headline]
    failures = [
        f"{line.set}, {line.arm}: {line.measure} fell from {line.before:.3f} to {line.after:.3f}"
        f" ({shown(line.difference, signed=True)}, n = {line.difference.n})."
        for line in headlines
        if line.difference.is_lower
    ]
    measured = {case.key for case in run.cases}
    if missing := [" ".join(case.key) for case in baseline.cases if case.key not in measured]:
        failures.append(f"{len(missing)} cases of the baseline were not measured: {', '.join(missing[:3])} …")
    counted = {(line.set, line.arm): line.difference.n for line in headlines}
    wanted = dict.fromkeys((case.set, case.arm) for case in baseline.cases if not case.apart)
    unjudged = [
        f"{name}, {arm}: both have {counted.get((name, arm), 0)} questions of the headline; it takes {FEWEST}."
        for name, arm in wanted
        if counted.get((name, arm), 0) < FEWEST
    ]
    unjudged = unjudged if wanted else ["No question of the baseline is in a headline."]
    return replace(comparison, failures=failures, unjudged=unjudged)


def missed(run: Run) -> list[str]:
    """Name each missed or unmeasured floor and each exceeded limit; EngrainError if there are none (samples)."""
    found = summaries(run)
    if all(each.part.floor is None and each.part.p50_limit_ms is None for each in found):
        raise EngrainError("This run has no floor and no time limit: ask whole sets, one question at a time.")
    failures = []
    for each in found:
        part, name = each.part, f"{each.part.set}, {each.part.arm}"
        if part.floor is not None and each.headline is None:
            failures.append(f"{name}: all questions are apart, so that none is held against the floor.")
        elif each.headline is not None and each.verdict == MISSED:
            mean, n = each.headline.mean, each.headline.n
            failures.append(f"{name}: {part.measure} is {mean:.4f}, below the floor of {part.floor:g} (n = {n}).")
        if each.latency is not None and each.speed_verdict == MISSED:
            taken = each.latency
            failures.append(f"{name}: p50 is {taken.p50:.2f} ms, above {part.p50_limit_ms:g} ms (n = {taken.n}).")
    return failures
