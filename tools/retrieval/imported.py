"""What a search wants of imported raw memories alone: who took part, labels, the thread, and when it happened."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import JsonValue

from stores.records import JsonObject


@dataclass(frozen=True, slots=True)
class Imported:
    """Conditions on a raw memory's metadata; those that are empty let everything pass."""

    participants: frozenset[str] = frozenset()
    """Any of them, in lower case, among `participants`."""
    labels: frozenset[str] = frozenset()
    """Any of them, in lower case, among `labels`."""
    thread_id: str | None = None
    after: datetime | None = None
    """Aware; `occurred_at` lies after it, or `captured_at` where there is none."""
    before: datetime | None = None

    @property
    def wants_nothing(self) -> bool:
        """Whether everything passes."""
        return self == EVERYTHING

    def passes(self, metadata: JsonObject) -> bool:
        """Whether a raw memory with this metadata is wanted."""
        if self.thread_id is not None and metadata.get("thread_id") != self.thread_id:
            return False
        for wanted, found in ((self.participants, metadata.get("participants")), (self.labels, metadata.get("labels"))):
            if wanted and not (isinstance(found, list) and not wanted.isdisjoint(_words(found))):
                return False
        if self.after is None and self.before is None:
            return True
        at = _moment(metadata.get("occurred_at", metadata.get("captured_at")))
        return at is not None and (self.after is None or at > self.after) and (self.before is None or at < self.before)


EVERYTHING = Imported()


def _words(found: Iterable[JsonValue]) -> set[str]:
    return {each.lower() for each in found if isinstance(each, str)}


def _moment(value: JsonValue) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        read = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
