"""A bench run, and its figures with targets: a stage yields those that it measured."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evals import report
from evals.bench.texts import Record
from evals.machine import Spread, pace_ms, processor_ms, spread, timed_ms

Item = TypeVar("Item")
WARM_UP = 20

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
    rows = []
    for each in figures:
        targets = ", ".join(filter(None, (_aim("", each.target), _aim("p95 ", each.p95_target))))
        value, p95 = _shown(each.value, each.unit), _shown(each.p95, each.unit)
        rows.append((each.name, str(each.n), value, p95, targets, each.verdict, each.note))
    return report.table(("figure", "n", "p50", "p95", "passes / goal", "verdict", "note"), rows)


def _aim(word: str, target: Target | None) -> str:
    if target is None:
        return ""
    return f"{word}{'≥' if target.more_is_better else '≤'} {_number(target.passes)} / {_number(target.goal)}"


def _shown(value: float | None, unit: str) -> str:
    return "" if value is None else f"{_number(value)} {unit}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


@dataclass(slots=True)
class Measurement:
    texts: list[Record]
    quick: bool
    say: Callable[[str], None]
    pid: int = 0
    round_trip_ms: float = 0.0

    def times(self, count: int) -> int:
        """Number of calls; a quick run makes a tenth."""
        return count // 10 if self.quick else count

    def calls(self, action: Callable[[Item], object], items: Sequence[Item]) -> tuple[Spread, str]:
        """Time each call; note processor time per call and the machine's pace."""
        before, pace = processor_ms(self.pid), pace_ms()
        times = spread(timed_ms(action, items))
        pace, after = (pace + pace_ms()) / 2, processor_ms(self.pid)
        note = f"fixed loop {pace:.1f} ms"
        if before is None or after is None:
            return times, note
        return times, f"server's processor time {(after - before) / len(items):.1f} ms each; {note}"

    def warmed_calls(self, action: Callable[[Item], object], items: Sequence[Item]) -> tuple[Spread, str]:
        """As `calls`, after 20 untimed ones."""
        timed_ms(action, items[:WARM_UP])
        return self.calls(action, items[WARM_UP:])

    def row(
        self,
        name: str,
        action: Callable[[Item], object],
        items: Sequence[Item],
        target: Target | None = None,
        p95_target: Target | None = None,
    ) -> Figure:
        """Make the row of `warmed_calls`."""
        found, cost = self.warmed_calls(action, items)
        return Figure.of(name, found, target=target, p95_target=p95_target, note=cost)
