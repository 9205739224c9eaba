"""When it happened what a record tells of: a time that its sender names, else that of its capture."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stores.records import Entity

_NAMED_IN = ("occurred_at", "captured_at")
"""The metadata keys that say it in ISO 8601; the first that is there counts."""


def happened_at(entity: "Entity") -> datetime | None:
    """The time that a record's metadata names, else when it was kept; None for a chunk that names none."""
    named = next(filter(None, (named_moment(entity.metadata, key) for key in _NAMED_IN)), None)
    if named is not None or entity.source_id is not None:
        return named
    return entity.created_at


def named_moment(metadata: Mapping[str, object], key: str) -> datetime | None:
    """Read a time of metadata, aware; None where there is none that can be read."""
    said = metadata.get(key)
    if not isinstance(said, str):
        return None
    try:
        read = datetime.fromisoformat(said.strip())
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
