"""Names of events, and frames of the event socket."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic_core import to_json

EVENT_NAMES = (
    "entity_created",
    "entity_updated",
    "entity_deleted",
    "entity_pending",
    "note_created",
    "note_pending",
    "permission_changed",
    "source_import_updated",
    "raw_capture_changed",
    "crawl_started",
    "crawl_progress",
    "crawl_complete",
    "crawl_sync_complete",
    "search_complete",
    "graph_updated",
    "health_update",
    "backup_started",
    "backup_complete",
    "backup_failed",
    "question_answered",
)
"""Topics that the interface names. Not all of them happen here; subscribing to one that does not is no error."""


def frame(name: str, data: Mapping[str, Any], at: datetime) -> str:
    """Make the text frame of an event; `at` is aware."""
    return to_json({"event": name, "data": data, "timestamp": at.isoformat()}).decode()
