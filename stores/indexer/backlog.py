"""Backlog of the vector lane: waiting records and progress. No I/O, no lock.

Records are embedded out of order, interactive ones first, so progress is a prefix of the feed plus single sequence
numbers above it. Deferred changes above a limit stay in the feed: memory is bounded.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from stores.records import Change


@dataclass(slots=True, eq=False)
class Item:
    """Record to embed, with the changes of the feed that it covers."""

    record_id: str
    interactive: bool
    sequences: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Progress:
    """Applied: everything up to `prefix`, and the numbers in `applied`."""

    prefix: int
    applied: frozenset[int]

    def contains(self, sequence: int) -> bool:
        return sequence <= self.prefix or sequence in self.applied


class Backlog:
    """Records to embed, each at most once queued and once in work."""

    def __init__(self, progress: Progress, limit: int) -> None:
        self.prefix = progress.prefix
        self.scanned = progress.prefix
        """Interactive changes are queued up to here."""
        self.reached = progress.prefix
        """Deferred changes are queued up to here."""
        self._applied = set(progress.applied)
        self._limit = limit
        self._interactive: OrderedDict[str, Item] = OrderedDict()
        self._deferred: OrderedDict[str, Item] = OrderedDict()
        self._taken: set[str] = set()
        self._held: dict[str, Item] = {}
        self._outstanding: dict[int, str] = {}
        self._lowest: list[int] = []
        self._owned: dict[str, set[int]] = {}

    @property
    def waits_interactive(self) -> bool:
        return bool(self._interactive)

    @property
    def waits_deferred(self) -> bool:
        return bool(self._deferred)

    @property
    def idle(self) -> bool:
        queued = self._interactive or self._deferred or self._held or self._taken or self._outstanding
        return not queued and self.reached == self.scanned

    @property
    def wants_more(self) -> bool:
        return self.reached < self.scanned and len(self._deferred) <= self._limit // 2

    def scan(self, changes: Sequence[Change]) -> None:
        """Queue changes; leave deferred ones above the limit in the feed."""
        for change in changes:
            in_step = self.reached == self.scanned
            self.scanned = change.sequence
            if change.deferred and not (in_step and len(self._deferred) < self._limit):
                continue
            self._add(change)
            if in_step:
                self.reached = change.sequence
        self._settle()

    def catch_up(self, changes: Sequence[Change]) -> None:
        """Queue deferred changes that `scan` left in the feed."""
        for change in changes:
            if change.sequence > self.scanned:
                break
            if change.deferred:
                self._add(change)
            self.reached = change.sequence
        self._settle()

    def backfill(self, record_ids: Iterable[str]) -> None:
        for record_id in record_ids:
            self._queue(record_id, interactive=False)

    def take(self, *, interactive: bool, limit: int) -> list[Item]:
        """Take the oldest records; each must come back through `release`."""
        queue = self._interactive if interactive else self._deferred
        items = [queue.popitem(last=False)[1] for _ in range(min(limit, len(queue)))]
        self._taken.update(item.record_id for item in items)
        return items

    def release(self, item: Item) -> None:
        """Mark a record as embedded; its later changes are queued."""
        self._taken.discard(item.record_id)
        held = self._held.pop(item.record_id, None)
        if held is not None:
            (self._interactive if held.interactive else self._deferred)[held.record_id] = held

    def retake(self, item: Item) -> bool:
        """Take a released record again; False where a newer change covers it."""
        waits = any(item.record_id in each for each in (self._taken, self._interactive, self._deferred))
        if waits:
            self._queue(item.record_id, interactive=item.interactive).sequences |= item.sequences
        else:
            self._taken.add(item.record_id)
        return not waits

    def is_outdated(self, record_id: str) -> bool:
        return record_id in self._held

    def supersede(self, item: Item) -> None:
        self._held[item.record_id].sequences |= item.sequences
        self.release(item)

    def after(self, items: Iterable[Item]) -> Progress:
        done = {sequence for item in items for sequence in item.sequences}
        lowest = min((number for number in self._outstanding if number not in done), default=self.reached + 1)
        prefix = min(self.reached, lowest - 1)
        return Progress(prefix, frozenset(number for number in self._applied | done if number > prefix))

    def commit(self, items: Iterable[Item]) -> None:
        for item in items:
            for number in item.sequences:
                self._forget(number, item.record_id)
            self._applied |= item.sequences
        self._settle()

    def contains(self, sequence: int, record_ids: Collection[str] = ()) -> bool:
        """Return whether the transaction that ends there is applied."""
        if sequence <= self.prefix:
            return True
        if sequence in self._outstanding or sequence not in self._applied:
            return False
        return not any(number <= sequence for each in record_ids for number in self._owned.get(each, ()))

    def pending(self, head: int) -> int:
        return max(0, head - self.prefix - len(self._applied))

    def _add(self, change: Change) -> None:
        number = change.sequence
        if number <= self.prefix or number in self._applied or number in self._outstanding:
            return
        if change.kind != "entity":
            self._applied.add(number)
            return
        self._outstanding[number] = change.record_id
        heappush(self._lowest, number)
        self._owned.setdefault(change.record_id, set()).add(number)
        self._queue(change.record_id, interactive=not change.deferred).sequences.add(number)

    def _queue(self, record_id: str, *, interactive: bool) -> Item:
        if record_id in self._taken:
            item = self._held.setdefault(record_id, Item(record_id, interactive))
            item.interactive |= interactive
            return item
        if interactive and record_id in self._deferred:
            item = self._deferred.pop(record_id)
            item.interactive = True
            return self._interactive.setdefault(record_id, item)
        queue = self._interactive if interactive or record_id in self._interactive else self._deferred
        return queue.setdefault(record_id, Item(record_id, interactive))

    def _forget(self, number: int, record_id: str) -> None:
        self._outstanding.pop(number, None)
        owned = self._owned.get(record_id)
        if owned is not None:
            owned.discard(number)
            if not owned:
                del self._owned[record_id]

    def _settle(self) -> None:
        while self._lowest and self._lowest[0] not in self._outstanding:
            heappop(self._lowest)
        prefix = min(self.reached, self._lowest[0] - 1) if self._lowest else self.reached
        for number in range(self.prefix + 1, prefix + 1):
            self._applied.discard(number)
        self.prefix = prefix
