"""Change feed of one organization, read as batches of current state."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from stores.errors import Unavailable
from stores.index import IndexBatch, Item
from stores.indexer.options import IndexerOptions
from stores.ledger import Ledger
from stores.records import Change, Entity, Kind, Position

CHUNK = 64
"""Records per read; their size then decides whether the batch goes on."""


class FeedGap(Exception):  # a state of the feed that asks for a rebuild, not a fault
    """The feed no longer holds the changes after a position."""


class LedgerUnreadable(Unavailable):  # the ledger is at fault, no index is
    """503: the ledger did not answer; the index is as good as before."""


@contextmanager
def reading() -> Iterator[None]:
    """Raise the ledger's faults as such, to tell them from an index's."""
    try:
        yield
    except (FeedGap, LedgerUnreadable):
        raise
    except Exception as error:
        raise LedgerUnreadable(f"The ledger cannot be read: {error}") from error


class Feed:
    """Thread-safe."""

    def __init__(self, ledger: Ledger, organization_id: str, options: IndexerOptions) -> None:
        self._ledger = ledger
        self.organization_id = organization_id
        self._limit = options.batch_changes
        self._characters = options.batch_characters

    def origin(self) -> Position:
        return Position(self._ledger.feed.epoch, 0, "")

    def head(self) -> Position:
        with reading():
            return self._ledger.feed.head(self.organization_id)

    def position(self, sequence: int) -> Position:
        with reading():
            batch = self._ledger.feed.batch_at(self.organization_id, sequence) if sequence else ""
        return Position(self._ledger.feed.epoch, sequence, batch or "")

    def changes(self, after: Position, limit: int | None = None) -> list[Change]:
        """Return the changes after a position, oldest first; FeedGap if the next is pruned, or the epoch is new."""
        read = partial(self._ledger.feed.changes, self.organization_id, after.sequence, limit or self._limit)
        with reading():
            if self._ledger.feed.epoch != after.epoch:
                raise FeedGap("the ledger was restored")
            changes = read()
            if not changes and self._ledger.feed.head(self.organization_id).sequence <= after.sequence:
                return []
            # Pruned, or committed between the two questions.
            changes = changes or read()
            if not changes or changes[0].sequence != after.sequence + 1:
                raise FeedGap(f"the feed is pruned beyond {after.sequence}, where the index ends")
        return changes

    def reaches_back(self, at_most: int) -> bool:
        """Return whether the feed holds the whole history, and is short."""
        if self.head().sequence > at_most:
            return False
        try:
            self.changes(self.origin(), 1)
        except FeedGap:
            return False
        return True

    def objection(self, position: Position) -> str | None:
        head = self.head()
        if position.epoch != head.epoch:
            return "it followed another ledger"
        if position.sequence > head.sequence:
            return f"it is at {position.sequence}, beyond the ledger's {head.sequence}: the ledger was restored"
        batch = self.position(position.sequence).batch
        if position.sequence and not batch:
            return f"the feed is pruned beyond {position.sequence}, where the index ends"
        if batch != position.batch:
            return f"it followed another history up to {position.sequence}: the ledger was restored"
        try:
            self.changes(position, 1)
        except FeedGap as gap:
            return str(gap)
        return None

    def entities(self, record_ids: Sequence[str]) -> dict[str, Entity]:
        """Return the records by id; those that the ledger cannot read are left out, as deleted ones."""
        with reading():
            return self._ledger.records.entities(self.organization_id, record_ids)

    def batch(self, after: Position, changes: Sequence[Change]) -> IndexBatch:
        """Return the state of the records changed after a position, up to a size."""
        entities: dict[str, Entity] = {}
        named: dict[str, None] = {}
        taken = characters = 0
        while taken < len(changes) and (not taken or characters < self._characters):
            chunk = changes[taken : taken + CHUNK]
            taken += len(chunk)
            # Read after the changes, so that no record is older than its change.
            wanted = [each for each in _named(chunk, "entity") if each not in named]
            named |= dict.fromkeys(wanted)
            read = self.entities(wanted)
            entities |= read
            characters += sum(len(entity.content) + len(entity.description) for entity in read.values())
        last = changes[taken - 1]
        stated = _named(changes[:taken], "relation")
        with reading():
            facts = self._ledger.relations.by_ids(self.organization_id, stated)
        items = [Item("entity", each, entities.get(each)) for each in named]
        items += [Item("relation", each, facts.get(each)) for each in stated]
        return IndexBatch(items, Position(after.epoch, last.sequence, last.batch))


def _named(changes: Sequence[Change], kind: Kind) -> list[str]:
    return list({change.record_id: None for change in changes if change.kind == kind})
