"""The Markdown report of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isnan

from evals.machine import Spread, spread
from evals.metrics import Interval, bootstrap
from evals.results import Case, Part
from evals.runs import Record, Run

HEADLINE = ""
"""The category of everything that is not apart."""
ALL, NONE, MISSED = "(all)", "-", "MISSED"
ONE_CLUSTER = "With a single cluster, intervals are over questions, and narrower than they should be."


@dataclass(frozen=True, slots=True)
class Figure:
    category: str
    measure: str
    interval: Interval
    apart: bool

    @property
    def title(self) -> str:
        return (self.category or ALL) + (" (apart)" if self.apart else "")


@dataclass(frozen=True, slots=True)
class Summary:
    part: Part
    figures: Sequence[Figure]
    """The headline first, then by category."""
    latency: Spread | None
    tokens: float | None
    """Mean per answer."""

    @property
    def headline(self) -> Figure | None:
        return next(
            (each for each in self.figures if (each.category, each.measure) == (HEADLINE, self.part.measure)), None
        )

    @property
    def verdict(self) -> str:
        figure, part = self.headline, self.part
        if figure is None or part.floor is None:
            return ""
        if part.goal is not None and figure.interval.mean >= part.goal:
            return "goal"
        return "passed" if figure.interval.mean >= part.floor else MISSED

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
    groups = by_category(cases)
    figures = [
        _figure(category, measure, group)
        for category, group in groups.items()
        for measure in sorted(
            dict.fromkeys(name for case in group for name in case.values), key=lambda name: name != part.measure
        )
    ]
    times = [case.took_ms for case in cases if case.took_ms is not None]
    tokens = [case.tokens for case in cases if case.tokens is not None]
    return Summary(part, figures, spread(times) if times else None, sum(tokens) / len(tokens) if tokens else None)


def _figure(category: str, measure: str, cases: Sequence[Case]) -> Figure:
    having = [case for case in cases if measure in case.values]
    interval = bootstrap([case.values[measure] for case in having], clusters_of(having))
    return Figure(category, measure, interval, all(case.apart for case in cases))


def _targets(found: Sequence[Summary]) -> str:
    columns = (
        "set", "arm", "unit", "n", "texts", "measure", "mean [95 %]", "floor / goal", "verdict", "p50 ms", "p95 ms",
        "limit ms", "verdict", "tokens", "server MB",
    )  # fmt: skip
    rows = [_target_row(each, each.headline.interval) for each in found if each.headline is not None]
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
    measures = list(dict.fromkeys(figure.measure for each in same for figure in each.figures))
    rows = []
    for each in same:
        for category in dict.fromkeys(figure.category for figure in each.figures):
            figures = {figure.measure: figure for figure in each.figures if figure.category == category}
            first = next(iter(figures.values()))
            cells = [shown(figures[measure].interval) if measure in figures else NONE for measure in measures]
            rows.append([each.part.arm, first.title, str(first.interval.n), str(first.interval.clusters), *cells])
    notes = [f"Unit: {same[0].part.unit}. Means over questions with 95 % intervals, bootstrapped over clusters."]
    if any(figure.interval.is_too_narrow for each in same for figure in each.figures):
        notes.append(ONE_CLUSTER)
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
