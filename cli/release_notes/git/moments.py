"""Times of commits."""

from datetime import UTC, datetime, timedelta, timezone

_DAY = 24 * 60


def moment(seconds: int, offset_min: int) -> datetime:
    zone = timezone(timedelta(minutes=offset_min)) if abs(offset_min) < _DAY else UTC
    try:
        return datetime.fromtimestamp(seconds, zone)
    except (OverflowError, OSError, ValueError):
        return datetime.fromtimestamp(0, UTC)
