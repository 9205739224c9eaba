"""Filter on the metadata of imported raw memories."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from stores.event_times import named_span
from stores.records import Entity


@dataclass(frozen=True, slots=True)
class Imported:
    """Empty conditions let everything pass."""

    participants: frozenset[str] = frozenset()
    """Lower case."""
    labels: frozenset[str] = frozenset()
    """Lower case."""
    thread_id: str | None = None
    after: datetime | None = None
    """Aware, inclusive."""
    before: datetime | None = None
    """Aware, exclusive."""

    @property
    def wants_nothing(self) -> bool:
        return self == EVERYTHING

    def passes(self, memory: Entity) -> bool:
        metadata = memory.metadata
        if self.thread_id is not None and _name(metadata.get("thread_id")) != self.thread_id:
            return False
        for wanted, found in ((self.participants, metadata.get("participants")), (self.labels, metadata.get("labels"))):
            if wanted and not (isinstance(found, list) and not wanted.isdisjoint(_words(found))):
                return False
        if self.after is None and self.before is None:
            return True
        named = named_span(metadata, kept_at=memory.created_at)
        if named is None:
            return False
        return (self.after is None or named.last >= self.after) and (self.before is None or named.start < self.before)


EVERYTHING = Imported()


def _name(thread: JsonValue) -> str | None:
    is_number = isinstance(thread, int) and not isinstance(thread, bool)
    return str(thread) if is_number or isinstance(thread, str) else None


def _words(found: Iterable[JsonValue]) -> set[str]:
    return {each.lower() for each in found if isinstance(each, str)}
