"""What can be asked of the analytics, and what is answered."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class ActivityQuery:
    """Whose activity in which project, up to when."""

    project_id: str
    visibility: frozenset[str]
    until: datetime
    days: int = 30
    """How many days to list, the one of `until` included; days are those of UTC."""
    recent: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Activity:
    """How many tasks were made and completed. One that was completed twice counts once, the last time."""

    created_recently: int
    completed_recently: int
    completed_per_day: tuple[tuple[date, int], ...]
    """Every day is there, in order."""


@dataclass(frozen=True, slots=True)
class Uses:
    """What came of the records that one surface returned."""

    surface: str
    returned: int
    """Each record counts as often as it was in an answer."""
    cited: int
    """How many of these the same user cited afterwards."""
