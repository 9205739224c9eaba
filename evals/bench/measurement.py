"""The state of a bench run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from evals.bench.figures import Figure
from evals.bench.texts import Record
from evals.process import processor_ms
from evals.timing import Spread, pace_ms, spread, timed_ms

Item = TypeVar("Item")


@dataclass(slots=True)
class Measurement:
    """The figures measured so far, and what they are measured with."""

    texts: list[Record]
    quick: bool
    say: Callable[[str], None]
    pid: int = 0
    """The server that is being measured."""
    round_trip_ms: float = 0.0
    """The cheapest request."""
    figures: list[Figure] = field(default_factory=list)

    def times(self, count: int) -> int:
        """Return the number of calls; a quick run makes a tenth of them."""
        return count // 10 if self.quick else count

    def calls(self, action: Callable[[Item], object], items: Sequence[Item]) -> tuple[Spread, str]:
        """Time each call; note the server's processor time per call, and the pace of the machine."""
        before, pace = processor_ms(self.pid), pace_ms()
        times = spread(timed_ms(action, items))
        pace, after = (pace + pace_ms()) / 2, processor_ms(self.pid)
        note = f"fixed loop {pace:.1f} ms"
        if before is None or after is None:
            return times, note
        return times, f"server's processor time {(after - before) / len(items):.1f} ms each; {note}"

    def warmed_calls(self, action: Callable[[Item], object], items: Sequence[Item]) -> tuple[Spread, str]:
        """Make the first 20 calls untimed, and time the others."""
        timed_ms(action, items[:WARM_UP])
        return self.calls(action, items[WARM_UP:])


WARM_UP = 20
