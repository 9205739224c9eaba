"""Queries and answers of the analytics."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class ActivityQuery:
    """As seen with these visibility keys."""

    project_id: str
    visibility: frozenset[str]
    until: datetime
    days: int = 30
    """Days in UTC, that of `until` included."""
    recent: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Activity:
    """A task that was completed twice counts once, at the last time."""

    created_recently: int
    completed_recently: int
    completed_per_day: tuple[tuple[date, int], ...]
    """Days without a task included."""


@dataclass(frozen=True, slots=True)
class Uses:
    surface: str
    returned: int
    """Appearances in answers, one per answer."""
    cited: int
    """Citations by the user who was shown it, afterwards."""
