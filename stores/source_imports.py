"""Imports of other tools' files as plain data."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from stores.records import JsonObject

ImportStatus = Literal["pending", "running", "paused", "completed", "failed", "canceled"]
ENDED: frozenset[ImportStatus] = frozenset({"completed", "failed", "canceled"})
COUNTS = (
    "imported_count", "skipped_count", "dedupe_count", "superseded_count", "error_count", "attachment_count",
    "extraction_pending_count", "raw_memory_count", "credential_count",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceImport:
    """One source that a user imports into one scope."""

    id: str
    user_id: str
    adapter: str
    source: str
    """Address of the source, such as `file:///home/ada/notes`; it tells two sources apart."""
    memory_scope: str
    scope_key: str | None
    options: JsonObject
    status: ImportStatus
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    checkpoint: JsonObject = field(default_factory=dict)
    """Place after the last stored batch; empty at the beginning."""
    progress: JsonObject = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    listed: JsonObject = field(default_factory=dict)
    """Latest imported and unreadable parts, by kind."""
