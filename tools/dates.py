"""Moments as people and agents write them: ISO 8601 in any zone, or relative like `7d` and `2w`."""

import re
from datetime import UTC, datetime, timedelta

from stores.errors import ValidationFailed

_RELATIVE = re.compile(r"([0-9]{1,6})\s*([hdwmy])", re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
FORMS = (
    "an ISO 8601 date or time such as 2026-03-01 or 2026-03-01T12:00:00Z, "
    "or a relative value such as 12h, 7d, 2w, 3m (of 30 days) or 1y"
)


def moment(text: str, *, now: datetime, field: str) -> datetime:
    """Read a moment as aware UTC; a date alone is its midnight, a time without a zone is UTC.

    Raises:
        ValidationFailed: It has neither form, or lies outside the years 1 to 9999.
    """
    text = text.strip()
    relative = _RELATIVE.fullmatch(text)
    try:
        if relative:
            return now - timedelta(days=int(relative[1]) * _DAYS[relative[2].lower()])
        read = datetime.fromisoformat(text.upper())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValidationFailed(
            f"{field} is not a date: use {FORMS}.", details={"field": f"body.{field}", "expected": "date"}
        ) from None


def optional_moment(text: str | None, *, now: datetime, field: str) -> datetime | None:
    """Read a moment that may be missing."""
    return None if text is None else moment(text, now=now, field=field)
