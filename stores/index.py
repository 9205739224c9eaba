"""Interface of an index. Indexes are derived from the ledger and may be lost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, Self

from stores.records import Entity, Position, Relation


class Item(NamedTuple):
    """Record that changed; None where it is gone."""

    kind: Literal["entity", "relation"]
    id: str
    record: Entity | Relation | None = None


@dataclass(frozen=True, slots=True)
class IndexBatch:
    """Current state of changed records up to `position`. Applying it is idempotent."""

    items: Sequence[Item]
    position: Position

    @classmethod
    def of(cls, records: Iterable[Entity | Relation], position: Position) -> Self:
        items = [Item("entity" if isinstance(each, Entity) else "relation", each.id, each) for each in records]
        return cls(items, position)

    @property
    def entities(self) -> list[Entity]:
        return [each.record for each in self.items if isinstance(each.record, Entity)]

    @property
    def relations(self) -> list[Relation]:
        return [each.record for each in self.items if isinstance(each.record, Relation)]

    def gone(self, kind: Literal["entity", "relation"]) -> list[str]:
        return [each.id for each in self.items if each.kind == kind and each.record is None]


class StoredIndex(Protocol):
    """Derived store. Reads from any thread, everything else from the writer's."""

    @property
    def erasable(self) -> int:
        """Removed or replaced records with text on disk; `compact` erases them."""

    def contents(self) -> Mapping[str, int]:
        """Return the revision of every entity, by id."""

    def compact(self) -> bool:
        """Reclaim space in a quiet moment; erases deleted text from disk. Return whether a rebuild would save more."""

    def close(self) -> None: ...


class Index(StoredIndex, Protocol):
    """Index that applies batches."""

    def position(self) -> Position | None:
        """Last applied position; None for a fresh index."""

    def apply(self, batch: IndexBatch) -> None:
        """Make the batch visible and advance the position, in one commit."""

    def prepare(self) -> None:
        """Prepare for reads, a moment after the last write."""
