"""Background jobs as plain data."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from stores.records import ORGANIZATION, JsonObject

JobState = Literal["queued", "deferred", "in_progress", "complete", "failed", "cancelled"]
"""`deferred` is queued for later: delayed, or between two attempts."""


@dataclass(frozen=True, slots=True)
class JobDraft:
    """Job to enqueue. The id says what it does, so that enqueuing it twice runs it once."""

    id: str
    function: str
    payload: JsonObject = field(default_factory=dict)
    """Ids and options, no text of records: it outlives them."""
    visibility: str = ORGANIZATION
    actor_id: str = ""
    """The transaction's actor, if empty."""
    api_key_id: str | None = None
    delay_s: float = 0


@dataclass(frozen=True, slots=True)
class Job:
    organization_id: str
    id: str
    function: str
    payload: JsonObject
    state: JobState
    visibility: str
    actor_id: str
    api_key_id: str | None
    attempts: int
    """Begun, the present one included."""
    due_at: datetime | None
    """Next attempt; end of the lease while it is in progress; None once it has ended."""
    token: int
    """Fencing token, larger for each attempt and after a cancellation."""
    again: bool
    """Enqueued once more while it was in progress: it is queued again when it ends."""
    done: int | None
    total: int | None
    result: JsonObject | None
    error: str | None
    created_at: datetime
    """When it was enqueued last."""
    started_at: datetime | None
    finished_at: datetime | None


class JobNotice(NamedTuple):
    """Change of a job's state, for events."""

    organization_id: str
    job_id: str
    function: str
    state: JobState
    visibility: str
    at: datetime
