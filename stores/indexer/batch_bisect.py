"""How a batch gets into an index when one of its records cannot: divided until that one is found and left out.

A record is to blame where a new, empty index refuses it as well and takes a batch without it. Where the new one takes
the record, the index that refused it is damaged; where the new one takes nothing, the machine is short of something.
Both are left to the lane, which opens the index again, builds it anew or waits.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from stores.index import Index, IndexBatch
from stores.indexer.feed import LedgerUnreadable
from stores.indexer.lane import Interrupted, describe
from stores.indexer.refusals import Refusal
from stores.records import Entity, Position, Relation

T = TypeVar("T")

_OF_NO_RECORD = (OSError, MemoryError, LedgerUnreadable, Interrupted)
# How the engines begin what they say of disks: to Python all their errors are of one type.
_OF_THE_DISK = re.compile(
    r"IO exception|An IO error|Failed to open file|lance error: LanceError\(IO\)|Internal error: '.*\(os error \d+\)"
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """What a batch does with one record."""

    kind: Literal["entity", "relation"]
    id: str
    record: Entity | Relation | None
    """None: it is removed."""


class Admission:
    """Applies batches to an index. `fresh` lends a new one of its kind; `check` is called between two attempts."""

    def __init__(
        self, index: Index, fresh: Callable[[], AbstractContextManager[Index]], check: Callable[[], None]
    ) -> None:
        self._index = index
        self._fresh = fresh
        self._check = check

    def attempt(self, batch: IndexBatch, since: Position) -> Mapping[str, Refusal] | None:
        """Apply a batch; None when it is in. Otherwise all of it is in but the refused records, which are returned.

        The position is then still that of `since`: apply an empty batch to move it. What was known of a refused record
        has left the index, as if it had never been there.

        Raises:
            Exception: What the index raised, where no record is to blame.
        """
        try:
            self._index.apply(batch)
        except Exception as error:
            pieces = _pieces(batch)
            if not pieces or is_of_the_machine(error):
                raise
            refused = divide(pieces, lambda some: self._apply(some, since), describe(error))
            if not self._are_to_blame([piece for piece, _ in refused], since):
                raise
            # What the index held of them is no longer so.
            self._apply([replace(piece, record=None) for piece, _ in refused if piece.record is not None], since)
            return {piece.id: Refusal(piece.kind, why) for piece, why in refused}
        return None

    def _apply(self, pieces: Sequence[_Piece], since: Position) -> None:
        self._check()
        self._index.apply(_batch(pieces, since))

    def _are_to_blame(self, pieces: Sequence[_Piece], since: Position) -> bool:
        """Tell whether a new index refuses each of them, too. One that takes nothing raises."""
        if not pieces:
            return True
        with self._fresh() as fresh:
            for piece in pieces:
                self._check()
                with suppress(Exception):  # That is what is asked.
                    fresh.apply(_batch([piece], since))
                    return False
            fresh.apply(_batch([], since))
        return True


def divide(items: Sequence[T], attempt: Callable[[Sequence[T]], None], why: str) -> list[tuple[T, str]]:
    """Of items that failed together, find those that fail by themselves, and why; all others are attempted.

    Errors are told as text, because what they were raised in holds on to the index's files.

    Raises:
        Exception: What an attempt raised, where it speaks of the machine.
    """
    if len(items) == 1:
        return [(items[0], why)]
    found: list[tuple[T, str]] = []
    middle = len(items) // 2
    for half in (items[:middle], items[middle:]):
        try:
            attempt(half)
        except Exception as failure:
            if is_of_the_machine(failure):
                raise
            found += divide(half, attempt, describe(failure))
    return found


def is_of_the_machine(error: Exception) -> bool:
    """Tell whether no record is to blame for an error."""
    return isinstance(error, _OF_NO_RECORD) or _OF_THE_DISK.match(str(error)) is not None


def _pieces(batch: IndexBatch) -> list[_Piece]:
    return [
        *(_Piece("entity", each, None) for each in batch.deleted_entities),
        *(_Piece("relation", each, None) for each in batch.deleted_relations),
        *(_Piece("entity", each.id, each) for each in batch.entities),
        *(_Piece("relation", each.id, each) for each in batch.relations),
    ]


def _batch(pieces: Sequence[_Piece], position: Position) -> IndexBatch:
    return IndexBatch(
        entities=[each.record for each in pieces if isinstance(each.record, Entity)],
        deleted_entities=[each.id for each in pieces if each.kind == "entity" and each.record is None],
        relations=[each.record for each in pieces if isinstance(each.record, Relation)],
        deleted_relations=[each.id for each in pieces if each.kind == "relation" and each.record is None],
        position=position,
    )
