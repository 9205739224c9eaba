"""Progress of an index that takes in changes out of order. No I/O, no lock.

Interactive changes are embedded first, so progress is a prefix of the feed plus single sequence numbers above it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from stores.records import Change


@dataclass(frozen=True, slots=True)
class Progress:
    """Applied: everything up to `prefix`, and the numbers in `applied`."""

    prefix: int
    applied: frozenset[int]


class Backlog:
    """Changes that are not in the index."""

    def __init__(self, progress: Progress) -> None:
        self.prefix = progress.prefix
        self.reached = progress.prefix
        """All changes up to here were added."""
        self._applied = set(progress.applied)
        self._outstanding: dict[str, dict[int, bool]] = {}
        """Sequence numbers by record; true for interactive changes."""
        self._numbers: set[int] = set()

    @property
    def is_empty(self) -> bool:
        return not self._numbers

    def add(self, change: Change) -> bool:
        """Return whether the record is to be embedded."""
        number = change.sequence
        if number <= self.prefix or number in self._applied or number in self._numbers:
            return False
        if change.kind != "entity":
            self._applied.add(number)
            return False
        self._numbers.add(number)
        self._outstanding.setdefault(change.record_id, {})[number] = not change.deferred
        return True

    def later(self, record_id: str, sequence: int) -> list[bool]:
        """Return the changes of a record after a sequence number: true for interactive ones."""
        changes = self._outstanding.get(record_id, {})
        return [interactive for number, interactive in changes.items() if number > sequence]

    def after(self, covered: Mapping[str, int]) -> Progress:
        """Return the progress once records are in, each with its changes up to a sequence number."""
        done = {n for each, last in covered.items() for n in self._outstanding.get(each, ()) if n <= last}
        lowest = min((number for number in self._numbers if number not in done), default=self.reached + 1)
        prefix = min(self.reached, lowest - 1)
        return Progress(prefix, frozenset(number for number in self._applied | done if number > prefix))

    def commit(self, covered: Mapping[str, int]) -> None:
        progress = self.after(covered)
        self.prefix, self._applied = progress.prefix, set(progress.applied)
        for record_id, last in covered.items():
            changes = self._outstanding.pop(record_id, {})
            self._numbers.difference_update(number for number in changes if number <= last)
            if later := {number: urgency for number, urgency in changes.items() if number > last}:
                self._outstanding[record_id] = later

    def settle(self) -> None:
        # Otherwise the lowest outstanding change bounds the prefix, and only a commit moves it.
        if self.is_empty:
            self.commit({})

    def contains(self, sequence: int, record_ids: Collection[str] = ()) -> bool:
        """Return whether the transaction that ends there is applied."""
        if sequence <= self.prefix:
            return True
        changes = (number for each in record_ids for number in self._outstanding.get(each, ()))
        return sequence in self._applied and not any(number <= sequence for number in changes)

    def pending(self, head: int) -> int:
        return max(0, head - self.prefix - len(self._applied))
