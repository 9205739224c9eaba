"""Measured figures with targets and floors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evals import markdown
from evals.timing import Spread

VERDICTS = ("goal", "passes", "MISSED")


@dataclass(frozen=True, slots=True)
class Target:
    passes: float
    goal: float
    more_is_better: bool = False

    def verdict(self, value: float) -> str:
        sign = -1 if self.more_is_better else 1
        if sign * value <= sign * self.goal:
            return "goal"
        return "passes" if sign * value <= sign * self.passes else "MISSED"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row; `value` is a median unless it is a rate."""

    name: str
    unit: str
    value: float
    n: int
    p95: float | None = None
    target: Target | None = None
    p95_target: Target | None = None
    note: str = ""

    @classmethod
    def of(
        cls, name: str, times: Spread, *, target: Target | None = None, p95_target: Target | None = None, note: str = ""
    ) -> "Figure":
        """Make a row of milliseconds."""
        return cls(name, "ms", times.p50, times.n, times.p95, target, p95_target, note)

    @property
    def verdict(self) -> str:
        """The worse verdict of median and 95th percentile."""
        found = [self.target.verdict(self.value)] if self.target else []
        if self.p95_target and self.p95 is not None:
            found.append(self.p95_target.verdict(self.p95))
        return max(found, key=VERDICTS.index, default="")


def table(figures: Sequence[Figure]) -> str:
    columns = ("figure", "n", "p50", "p95", "passes / goal", "verdict", "note")
    return markdown.table(columns, [_cells(figure) for figure in figures])


def _cells(figure: Figure) -> tuple[str, ...]:
    targets = [(figure.target, ""), (figure.p95_target, "p95 ")]
    return (
        figure.name,
        str(figure.n),
        _shown(figure.value, figure.unit),
        _shown(figure.p95, figure.unit),
        ", ".join(word + _target(target) for target, word in targets if target),
        figure.verdict,
        figure.note,
    )


def _target(target: Target) -> str:
    return f"{'≥' if target.more_is_better else '≤'} {_number(target.passes)} / {_number(target.goal)}"


def _shown(value: float | None, unit: str) -> str:
    return "" if value is None else f"{_number(value)} {unit}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
