"""Event times of records: named in the metadata, else the time of capture."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from stores.language.moments import Span, instant, span_of

if TYPE_CHECKING:
    from stores.records import Entity

CAPTURED_AT = "captured_at"
EVENT_KEYS = ("occurred_at", CAPTURED_AT)
"""Metadata keys of the event time; the first valid one counts."""


class Times(NamedTuple):
    metadata: Mapping[str, object]
    created_at: datetime
    updated_at: datetime


def event_span(entity: "Entity") -> Span | None:
    """Return the named span, else the creation; None for a chunk that names none."""
    named = named_span(entity.metadata, kept_at=entity.created_at)
    if named is not None or entity.source_id is not None:
        return named
    return instant(entity.created_at)


def named_span(metadata: Mapping[str, object], *, kept_at: datetime) -> Span | None:
    """Return the span named in the metadata; ages count back from `kept_at`."""
    return next(filter(None, (span_of(metadata.get(key), now=kept_at) for key in EVENT_KEYS)), None)


def recent_at(record: "Times | Entity") -> datetime:
    """Return the last change; if it never changed, the capture, if earlier than the creation."""
    if record.updated_at > record.created_at:
        return record.updated_at
    captured = span_of(record.metadata.get(CAPTURED_AT), now=record.created_at)
    return min(captured.last, record.created_at) if captured is not None else record.created_at


def unread_dates(metadata: Mapping[str, object], *, kept_at: datetime) -> list[str]:
    return [key for key in EVENT_KEYS if metadata.get(key) is not None and span_of(metadata[key], now=kept_at) is None]
