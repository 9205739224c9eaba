"""A measured figure beside what it has to reach and what it stands on, and the table of all of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evals.timing import Spread


@dataclass(frozen=True, slots=True)
class Target:
    """What passes, and what we want."""

    passes: float
    goal: float
    more_is_better: bool = False

    def verdict(self, value: float) -> str:
        """Say whether a value reaches the goal, passes, or does neither."""
        sign = -1 if self.more_is_better else 1
        if sign * value <= sign * self.goal:
            return "goal"
        return "passes" if sign * value <= sign * self.passes else "MISSED"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    name: str
    unit: str
    value: float
    """What is held against the target: mostly a median."""
    n: int
    p95: float | None = None
    target: Target | None = None
    p95_target: Target | None = None
    floor: float | None = None
    """What the engines alone take for it."""
    note: str = ""

    @classmethod
    def of(cls, name: str, times: Spread, *, target: Target | None = None, p95_target: Target | None = None,
           floor: float | None = None, note: str = "") -> "Figure":  # fmt: skip
        """Make a line of milliseconds."""
        return cls(name, "ms", times.p50, times.n, times.p95, target, p95_target, floor, note)

    @property
    def verdict(self) -> str:
        """The worse of the verdicts on the median and on the 95th percentile; empty without a target."""
        found = [self.target.verdict(self.value)] if self.target else []
        if self.p95_target and self.p95 is not None:
            found.append(self.p95_target.verdict(self.p95))
        return max(found, key=("goal", "passes", "MISSED").index, default="")


HEADER = ("figure", "n", "p50", "p95", "passes / goal", "verdict", "engines alone", "ratio", "note")


def table(figures: Sequence[Figure]) -> str:
    """Lay the figures out as a Markdown table whose columns line up in a terminal, too."""
    rows = [HEADER, *(_cells(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    lines = [f"| {' | '.join(cells)} |" for cells in padded]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _cells(figure: Figure) -> tuple[str, ...]:
    floor = figure.floor
    return (
        figure.name,
        str(figure.n),
        f"{_number(figure.value)} {figure.unit}",
        "" if figure.p95 is None else f"{_number(figure.p95)} {figure.unit}",
        _targets(figure),
        figure.verdict,
        "" if floor is None else f"{_number(floor)} {figure.unit}",
        "" if not floor else f"{figure.value / floor:.2f}",
        figure.note,
    )


def _targets(figure: Figure) -> str:
    shown = [_target(figure.target)] if figure.target else []
    if figure.p95_target:
        shown.append(f"p95 {_target(figure.p95_target)}")
    return ", ".join(shown)


def _target(target: Target) -> str:
    return f"{'≥' if target.more_is_better else '≤'} {_number(target.passes)} / {_number(target.goal)}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
