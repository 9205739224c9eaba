"""Event times of records: from metadata, else the time of capture."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from stores.language.moments import Span, instant, span_of

if TYPE_CHECKING:
    from stores.records import Entity

CAPTURED_AT = "captured_at"
NAMED_IN = ("occurred_at", CAPTURED_AT)
"""Metadata keys with event times (`stores/language/moments.py` parses them); the first that parses counts."""


class Times(Protocol):
    """Times of a record."""

    @property
    def metadata(self) -> Mapping[str, object]:
        """May hold times of the event and of its capture."""

    @property
    def created_at(self) -> datetime:
        """Creation time."""

    @property
    def updated_at(self) -> datetime:
        """Time of the last change."""


def happened(entity: "Entity") -> Span | None:
    """Return the span of the event, by metadata or creation time; None for a chunk without metadata."""
    named = named_span(entity.metadata, kept_at=entity.created_at)
    if named is not None or entity.source_id is not None:
        return named
    return instant(entity.created_at)


def named_span(metadata: Mapping[str, object], *, kept_at: datetime) -> Span | None:
    """Return the span that metadata names; relative times count from `kept_at`."""
    return next(filter(None, (span_of(metadata.get(key), now=kept_at) for key in NAMED_IN)), None)


def recent_at(record: Times) -> datetime:
    """Return the time from which recency counts: the last change.

    An unchanged record is as old as its capture time says; metadata never makes a record newer.
    """
    if record.updated_at > record.created_at:
        return record.updated_at
    captured = span_of(record.metadata.get(CAPTURED_AT), now=record.created_at)
    return min(captured.last, record.created_at) if captured is not None else record.created_at


def unread_dates(metadata: Mapping[str, object], *, kept_at: datetime) -> list[str]:
    """Return the metadata keys whose dates cannot be parsed; they are ignored."""
    return [key for key in NAMED_IN if metadata.get(key) is not None and span_of(metadata[key], now=kept_at) is None]
