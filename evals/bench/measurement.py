"""What one run of the bench knows and has found."""

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
    """What has been measured so far, and what it is measured with."""

    texts: list[Record]
    quick: bool
    say: Callable[[str], None]
    pid: int = 0
    """The server that is being measured."""
    round_trip_ms: float = 0.0
    """The cheapest request to this server, from this client."""
    figures: list[Figure] = field(default_factory=list)

    def times(self, count: int) -> int:
        """How often to call; a quick run calls a tenth as often."""
        return count // 10 if self.quick else count

    def calls(self, action: Callable[[Item], object], items: Sequence[Item]) -> tuple[Spread, str]:
        """Time each call; add what the server's processors did for one on average, background work included.

        The machine's pace is that of a fixed loop, before and after.
        """
        before, pace = processor_ms(self.pid), pace_ms()
        times = spread(timed_ms(action, items))
        pace, after = (pace + pace_ms()) / 2, processor_ms(self.pid)
        note = f"fixed loop {pace:.1f} ms"
        if before is None or after is None:
            return times, note
        return times, f"server's processor time {(after - before) / len(items):.1f} ms each; {note}"
