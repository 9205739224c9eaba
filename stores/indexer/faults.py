"""Faults of a lane, and of records that an index refuses: found by bisection, and listed in a file.

A record is at fault where the index refuses it alone and takes its removal. Otherwise the index is damaged, or the
machine is short of something; both are the lane's.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import structlog

from stores.index import Index, IndexBatch, Item
from stores.indexer.feed import LedgerUnreadable
from stores.indexer.folders import refusals_of, write
from stores.indexer.options import IndexName
from stores.records import Position

T = TypeVar("T")

log = structlog.get_logger("indexer")


class Interrupted(Exception):  # not a fault: the lane is closing
    """The organization is being closed."""


class ModelUnavailable(Exception):  # the model is at fault, no index is
    """The embedding model cannot be loaded or reached."""


MOST = 10_000
"""Refused records above which an index is useless."""
_OF_NO_RECORD = (OSError, MemoryError, LedgerUnreadable, Interrupted)
# Beginnings of the engines' messages about disks: to Python all their errors are of one type.
_OF_THE_DISK = re.compile(
    r"IO exception|An IO error|Failed to open file|lance error: LanceError\(IO\)|Internal error: '.*\(os error \d+\)"
)


class Refusal(NamedTuple):
    kind: Literal["entity", "relation"]
    reason: str


class Refusals:
    """Refused records of one generation. Written by the lane; `book` is replaced whole.

    The file is written before the index's position moves on: a kill brings the records again.
    """

    def __init__(self, generation: Path) -> None:
        self._file = refusals_of(generation)
        self.book: Mapping[str, Refusal] = _read(self._file)

    def note(self, refused: Mapping[str, Refusal], tried: Collection[str]) -> list[str]:
        """Record the outcome of a try; return the newly refused records. RuntimeError for too many."""
        kept = {each: why for each, why in self.book.items() if each not in tried} | dict(refused)
        if len(kept) > MOST:
            raise RuntimeError(f"The index refuses {len(kept)} records, the last one because of {kept.popitem()[1]}.")
        new = [each for each in refused if each not in self.book]
        if kept != self.book:
            if kept:
                write(self._file, json.dumps(kept))
            else:
                self._file.unlink(missing_ok=True)
            self.book = kept
        return new


def _read(file: Path) -> dict[str, Refusal]:
    try:
        return {each: Refusal(*why) for each, why in json.loads(file.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def admit(index: Index, batch: IndexBatch, since: Position, check: Callable[[], None]) -> Mapping[str, Refusal] | None:
    """Apply a batch; return None, or the refused records where all others are in.

    Then the position is still `since`, and the index holds nothing of the refused records. `check` runs between
    attempts. Raises what the index raised if no record is to blame.
    """

    def apply(items: Sequence[Item]) -> None:
        check()
        index.apply(IndexBatch(items, since))

    try:
        index.apply(batch)
    except Exception as error:
        if not batch.items or is_of_the_machine(error):
            raise
        refused = divide(batch.items, apply, describe(error))
        # Outdated versions go; an index that refuses that is damaged.
        apply([item._replace(record=None) for item, _ in refused])
        return {item.id: Refusal(item.kind, why) for item, why in refused}
    return None


def divide(items: Sequence[T], attempt: Callable[[Sequence[T]], None], why: str) -> list[tuple[T, str]]:
    """Return the items that fail alone, with the reason; attempt all others. Faults of the machine are raised."""
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
    return isinstance(error, _OF_NO_RECORD) or _OF_THE_DISK.match(str(error)) is not None


def log_refused(organization_id: str, index: IndexName, kind: str, record_id: str, reason: str) -> None:
    # Not as `organization_id`: its owners read those lines, and the record may be somebody's own.
    log.error("record_refused", organization=organization_id, index=index, kind=kind, id=record_id, reason=reason)


def describe(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
