"""Interface of an index. Indexes are derived from the ledger and may be lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from stores.records import Entity, Position, Relation


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """Current state of changed records up to `position`. Applying it is idempotent."""

    entities: Sequence[Entity]
    deleted_entities: Sequence[str]
    relations: Sequence[Relation]
    deleted_relations: Sequence[str]
    position: Position


class StoredIndex(Protocol):
    """Derived store. Reads from any thread, everything else from the writer's."""

    name: str

    @property
    def erasable(self) -> int:
        """Removed or replaced records with text on disk; `compact` erases them."""

    def contents(self) -> Mapping[str, int]:
        """Return the revision of every entity, by id."""

    def compact(self) -> None:
        """Reclaim space in a quiet moment; erases deleted text from disk."""

    def close(self) -> None: ...


class Index(StoredIndex, Protocol):
    """Index that applies batches."""

    def position(self) -> Position | None:
        """Last applied position; None for a fresh index."""

    def apply(self, batch: IndexBatch) -> None:
        """Make the batch visible and advance the position, in one commit."""

    def prepare(self) -> None:
        """Prepare for reads, a moment after the last write."""
