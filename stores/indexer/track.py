"""Index of a feed lane and its adapter."""

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
    """Adapter of one kind of index."""

    def open(self, folder: Path, *, clean: bool) -> T:
        """Open the index, or raise; with care after an unclean stop."""

    def fill(
        self, index: T, around: Surroundings, admit: Callable[[IndexBatch], None], check: Callable[[], None]
    ) -> None:
        """Load everything from the ledger; call `check` between pages.

        `admit` skips records that the index refuses.
        """


@dataclass(slots=True)
class Track(Generic[T]):
    handle: Handle[T]
    position: Position
    refusals: Refusals
