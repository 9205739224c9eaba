"""The tables of a report, as rows of words: for a terminal, for Markdown and for HTML."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evals.machine import UNKNOWN
from evals.metrics import Interval
from evals.reports.figures import Summary
from evals.results import NOTE_BREAK
from evals.runs import RunRecord

NONE = "-"
"""What is not known, or not measured."""
ONE_CLUSTER = "Where there is one cluster alone, the interval is over questions, and narrower than it should be."


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its title and what has to be known to read it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def shown(interval: Interval) -> str:
    """Show a mean with its interval; one value alone has none."""
    if math.isnan(interval.low):
        return f"{digits(interval.mean)} [{NONE}]"
    return f"{digits(interval.mean)} [{digits(interval.low)}, {digits(interval.high)}]"


def signed(interval: Interval) -> str:
    """Show a mean difference with its interval."""
    if math.isnan(interval.low):
        return f"{interval.mean:+.3f} [{NONE}]"
    return f"{interval.mean:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def digits(value: float) -> str:
    """Show a share in three digits."""
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= value < 1 else f"{value:.2f}"


def number(value: float | None, digits: int = 0) -> str:
    """Show a number, or that it is not known."""
    return NONE if value is None else f"{value:,.{digits}f}"


def judged(found: Sequence[Summary]) -> Table:
    """Each set and arm by the measure that it is judged by, against what has to be reached."""
    rows = []
    for each in found:
        if (figure := each.headline) is None:
            continue
        part, taken = each.part, each.latency
        rows.append(
            [
                part.set, part.arm, part.unit, str(figure.interval.n), number(part.texts), part.measure,
                shown(figure.interval), _aim(part.floor, part.goal), each.verdict or NONE,
                number(taken.p50, 1) if taken else NONE, number(part.p50_limit_ms if taken else None),
                each.speed_verdict or NONE,
            ]
        )  # fmt: skip
    columns = (
        "set", "arm", "unit", "n", "texts", "measure", "mean [95 %]", "floor / goal", "verdict", "p50 ms", "limit ms",
        "verdict",
    )  # fmt: skip
    return Table("Against the targets", columns, rows, "n counts questions; those reported apart are not among them.")


def _aim(floor: float | None, goal: float | None) -> str:
    return NONE if floor is None else f"{digits(floor)} / {digits(goal)}" if goal is not None else digits(floor)


def measures(found: Sequence[Summary], *, narrow: bool = False) -> list[Table]:
    """One table per set: all measures, over everything and by category, for each arm.

    Narrow tables have the interval of the judged measure only.
    """
    tables = []
    for name in dict.fromkeys(each.part.set for each in found):
        same = [each for each in found if each.part.set == name]
        columns = ["arm", "category", "n", "clusters", *same[0].measures]
        rows = [_measure_row(each, category, narrow=narrow) for each in same for category in each.categories]
        note = f"Unit: {same[0].part.unit}. Means over questions with 95 % intervals, bootstrapped over clusters."
        alone = ONE_CLUSTER if any(figure.interval.over_values for each in same for figure in each.figures) else ""
        note = " ".join([note, *([alone] if alone else []), *_noted({each.part.arm: each.part.note for each in same})])
        tables.append(Table(name, columns, rows, note))
    return tables


def _noted(notes: Mapping[str, str]) -> list[str]:
    """What was kept about a set and its arms, as sentences: what is true of all arms once, the rest by arm."""
    clauses = {arm: [each for each in note.split(NOTE_BREAK) if each] for arm, note in notes.items()}
    first, *others = clauses.values()
    shared = [each for each in first if all(each in other for other in others)]
    sentences = [f"{each[0].upper()}{each[1:]}." for each in shared]
    for arm, said in clauses.items():
        if own := [each for each in said if each not in shared]:
            sentences.append(f"{arm}: {NOTE_BREAK.join(own)}.")
    return sentences


def _measure_row(summary: Summary, category: str, *, narrow: bool) -> list[str]:
    found = [summary.figure(category, measure) for measure in summary.measures]
    first = next(each for each in found if each is not None)
    cells = [
        NONE if each is None else digits(each.interval.mean) if narrow and place else shown(each.interval)
        for place, each in enumerate(found)
    ]
    return [summary.part.arm, first.title, str(first.interval.n), str(first.clusters), *cells]


def costs(found: Sequence[Summary]) -> Table:
    """What answers took and brought."""
    rows = []
    for each in found:
        taken, part = each.latency, each.part
        if taken is None and part.loading_s is None and each.tokens is None:
            continue
        times = [number(taken.p50, 1), number(taken.p95, 1), number(taken.p99, 1)] if taken else [NONE] * 3
        rows.append(
            [
                part.set, part.arm, str(taken.n if taken else len(each.cases)), *times, number(each.queries_per_s, 1),
                number(each.tokens), number(part.resident_mb), number(part.peak_mb), number(part.loading_s, 1),
            ]
        )  # fmt: skip
    columns = (
        "set", "arm", "n", "p50 ms", "p95 ms", "p99 ms", "queries/s", "tokens per answer", "server MB", "peak MB",
        "loading s",
    )  # fmt: skip
    note = (
        "Milliseconds per query, from sending it to having the whole answer. Tokens are four characters each. Loading"
        " is storing and indexing. An arm without times asks for more than a client would."
    )
    return Table("What it takes", columns, rows, note)


def run_facts(record: RunRecord) -> Table:
    """What the run was."""
    rows = [
        ["run", f"{record.id} ({record.suite})"],
        ["started", f"{record.started_at:%Y-%m-%d %H:%M:%S} UTC"],
        ["finished", f"{record.finished_at:%Y-%m-%d %H:%M:%S} UTC" if record.finished_at else "not yet"],
        *([["server", str(record.command["url"])]] if record.command.get("url") else []),
        ["version", record.version],
        ["commit", record.commit or "an installed package"],
        ["model", record.model],
        *[[f"data {name}", digest[:16]] for name, digest in record.data.items()],
        ["command", _pairs(record.command)],
        ["settings", _pairs(record.settings)],
        ["machine", _pairs(record.machine) or UNKNOWN],
        ["versions", _pairs(record.versions)],
    ]
    return Table("The run", ("", ""), rows)


def _pairs(values: object) -> str:
    if isinstance(values, dict):
        return ", ".join(f"{name} {_pairs(value)}" for name, value in values.items() if value not in (None, "", {}))
    return ", ".join(map(str, values)) if isinstance(values, list | tuple) else str(values)
