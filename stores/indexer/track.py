"""What a lane that follows the feed works on: an index, how it is made, how far it is and what it is without."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from stores.index import Index, IndexBatch
from stores.indexer.handle import Handle
from stores.indexer.lane import Surroundings
from stores.indexer.refusals import Refusals
from stores.records import Position

T = TypeVar("T", bound=Index)


class Maker(Protocol[T]):
    """How one kind of index is opened and filled."""

    def open(self, folder: Path, *, clean: bool) -> T:
        """Open what is in the folder, or raise; after an unclean stop with care."""
        ...

    def fill(
        self, index: T, around: Surroundings, admit: Callable[[IndexBatch], None], check: Callable[[], None]
    ) -> None:
        """Load everything that the ledger holds into an empty index; call `check` between pages.

        What goes through `admit` stops at no single record.
        """
        ...


@dataclass(slots=True)
class Track(Generic[T]):
    """An open index, how far it is and what it is without."""

    handle: Handle[T]
    position: Position
    refusals: Refusals
