"""Queries and answers of the analytics."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class ActivityQuery:
    """Activity of one project, as seen with these visibility keys."""

    project_id: str
    visibility: frozenset[str]
    until: datetime
    days: int = 30
    """Days to list, in UTC, including that of `until`."""
    recent: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Activity:
    """Created and completed tasks. A task that was completed twice counts once, at the last time."""

    created_recently: int
    completed_recently: int
    completed_per_day: tuple[tuple[date, int], ...]
    """Every day in order, days without a task included."""


@dataclass(frozen=True, slots=True)
class Uses:
    """Returned and cited records of one surface."""

    surface: str
    returned: int
    """Counts a record once per answer."""
    cited: int
    """Records that the same user cited afterwards."""
