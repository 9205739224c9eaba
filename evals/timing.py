"""Times of calls and their percentiles."""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles by nearest rank."""

    p50: float
    p95: float
    n: int


def spread(values: Sequence[float]) -> Spread:
    """Return percentiles; NaN without values."""
    if not values:
        return Spread(math.nan, math.nan, 0)
    ordered = sorted(values)
    return Spread(_rank(ordered, 0.5), _rank(ordered, 0.95), len(ordered))


def _rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def timed_ms(action: Callable[[Item], object], items: Iterable[Item]) -> list[float]:
    """Return the milliseconds of each call."""
    times = []
    for item in items:
        start = time.perf_counter()
        action(item)
        times.append((time.perf_counter() - start) * 1000)
    return times


def pace_ms() -> float:
    """Milliseconds of a fixed loop: a shared machine's pace varies twofold."""
    return statistics.median(timed_ms(_loop, range(5)))


def _loop(_: object) -> int:
    total = 0
    for number in range(200_000):
        total += number
    return total
