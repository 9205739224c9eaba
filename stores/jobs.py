"""Background jobs as plain data."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from stores.records import ORGANIZATION, JsonObject

JobState = Literal["queued", "deferred", "in_progress", "complete", "failed", "cancelled"]
"""`deferred` is queued for later: delayed, or between two attempts."""


@dataclass(frozen=True, slots=True)
class JobDraft:
    """Job to enqueue; deterministic ids make it idempotent."""

    id: str
    function: str
    payload: JsonObject = field(default_factory=dict)
    """No text of records: it outlives them."""
    visibility: str = ORGANIZATION
    actor_id: str = ""
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
    due_at: datetime | None
    """End of the lease while it is in progress."""
    token: int
    """Fencing token."""
    again: bool
    """Queue it again when it ends."""
    done: int | None
    total: int | None
    result: JsonObject | None
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class JobNotice(NamedTuple):
    """Change of a job's state."""

    organization_id: str
    job_id: str
    function: str
    state: JobState
    visibility: str
    at: str
    done: int | None = None
    """Steps done of `total`, where it tells of progress within a state."""
    total: int | None = None
