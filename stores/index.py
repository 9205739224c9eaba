"""What the indexer asks of every index of one organization. An index is derived from the ledger and may be lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stores.records import Entity, Position, Relation


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """The current state of records that changed, up to and including `position`. Applying it twice changes nothing."""

    entities: Sequence[Entity]
    deleted_entities: Sequence[str]
    relations: Sequence[Relation]
    deleted_relations: Sequence[str]
    position: Position
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Those of the deleted ones that the ledger has and cannot read, and why."""


class Index(Protocol):
    """One derived store of one organization; every method runs on the organization's writer thread but reads."""

    name: str

    def position(self) -> Position | None:
        """How far the feed has been applied; None for a fresh index."""
        ...

    def apply(self, batch: IndexBatch) -> None:
        """Make the batch visible to reads and advance the position, in one commit."""
        ...

    @property
    def erasable(self) -> int:
        """How many removed or replaced records may still have text on disk; `compact` brings it to 0."""
        ...

    def contents(self) -> Mapping[str, int]:
        """Every entity id and its revision, for `engrain check`."""
        ...

    def prepare(self) -> None:
        """Make ready for reads, a moment after the last of several writes."""
        ...

    def compact(self) -> None:
        """Reclaim space in a quiet moment; text that was deleted is gone from disk afterwards."""
        ...

    def close(self) -> None:
        """Release files, threads and locks."""
        ...
