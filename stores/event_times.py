"""When it happened what a record tells of: a time that its sender names, else that of its capture."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from stores.language.moments import Span, instant, span_of

if TYPE_CHECKING:
    from stores.records import Entity

CAPTURED_AT = "captured_at"
NAMED_IN = ("occurred_at", CAPTURED_AT)
"""The metadata keys that say it, as `stores/language/moments.py` reads them; the first that can be read counts."""


class Times(Protocol):
    """What tells the times of a record."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """May say when it happened what the record tells of, and when it was said."""

    @property
    def created_at(self) -> datetime:
        """When it was kept."""

    @property
    def updated_at(self) -> datetime:
        """When it was changed last."""


def happened(entity: "Entity") -> Span | None:
    """The span that a record's metadata names, else the instant when it was kept; None for a chunk that names none."""
    named = named_span(entity.metadata, kept_at=entity.created_at)
    if named is not None or entity.source_id is not None:
        return named
    return instant(entity.created_at)


def named_span(metadata: Mapping[str, object], *, kept_at: datetime) -> Span | None:
    """The span that metadata names; how long ago it was counts from when the record was kept."""
    return next(filter(None, (span_of(metadata.get(key), now=kept_at) for key in NAMED_IN)), None)


def recent_at(record: Times) -> datetime:
    """The moment from which on a record gets older: its last change.

    What was not changed since it was kept is as old as its capture time says. Nothing gets newer by what it says.
    """
    if record.updated_at > record.created_at:
        return record.updated_at
    captured = span_of(record.metadata.get(CAPTURED_AT), now=record.created_at)
    return min(captured.last, record.created_at) if captured is not None else record.created_at


def unread_dates(metadata: Mapping[str, object], *, kept_at: datetime) -> list[str]:
    """The keys that hold something that cannot be read as a date: it counts as if it were not there."""
    return [key for key in NAMED_IN if metadata.get(key) is not None and span_of(metadata[key], now=kept_at) is None]
