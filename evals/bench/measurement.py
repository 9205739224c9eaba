"""The state of a bench run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from evals.bench.figures import Figure
from evals.bench.texts import Record
from evals.machine import processor_ms
from evals.timing import Spread, pace_ms, spread, timed_ms

Item = TypeVar("Item")


@dataclass(slots=True)
class Measurement:
    texts: list[Record]
    quick: bool
    say: Callable[[str], None]
    pid: int = 0
    round_trip_ms: float = 0.0
    figures: list[Figure] = field(default_factory=list)

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


WARM_UP = 20
