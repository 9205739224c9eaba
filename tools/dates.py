"""Moments as people and agents write them: ISO 8601 in any zone, or relative like `7d` and `2w`."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints
from pydantic_core import PydanticCustomError

from stores.errors import ValidationFailed

_RELATIVE = re.compile(r"([0-9]{1,6})\s*([hdwmy])", re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_DAY_OF_YEAR = re.compile(r"([0-9]{4})-?([0-9]{3})(?=$|T)")
_MONTH_OR_YEAR = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")
_END_OF_DAY = re.compile(r"T24(?=(?::?00){0,2}(?:[.,]0+)?(?:Z|[+-][0-9:]+)?$)")
FORMS = (
    "an ISO 8601 date or time such as 2026-03-01, 2026-03 or 2026-03-01T12:00:00Z, "
    "or a relative value such as 12h, 7d, 2w, 3m (of 30 days) or 1y"
)

NO_DATE = "no_date"
"""The type of the validation error of what is no text that could be a date."""
DATE_LIMIT = 200


def _text(value: object) -> object:
    if isinstance(value, str) and value.strip() and len(value) <= DATE_LIMIT:
        return value
    raise PydanticCustomError(NO_DATE, "is not a date: use {forms}", {"forms": FORMS, "expected": "date"})


WITH_FORMS = BeforeValidator(_text)
"""Refuses what is no text, or none that could be a date, with the forms."""
Date = Annotated[str, StringConstraints(min_length=1, max_length=DATE_LIMIT), WITH_FORMS]
"""A moment as `moment` reads it."""


def moment(text: str, *, now: datetime, field: str) -> datetime:
    """Read a moment as aware UTC; a date, month or year alone is its first instant, a time without a zone is UTC.

    Raises:
        ValidationFailed: It has neither form, or lies outside the years 1 to 9999.
    """
    text = text.strip()
    relative = _RELATIVE.fullmatch(text)
    try:
        if relative:
            return now - timedelta(days=int(relative[1]) * _DAYS[relative[2].lower()])
        read = _iso(text.upper())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValidationFailed(
            f"{field} is not a date: use {FORMS}.", details={"field": f"body.{field}", "expected": "date"}
        ) from None


def _iso(text: str) -> datetime:
    """Read what ISO 8601 allows, also where Python 3.11 does not: months, years, days of a year, the end of a day.

    Raises:
        ValueError: It is none of these.
        OverflowError: It lies beyond the year 9999.
    """
    if alone := _MONTH_OR_YEAR.fullmatch(text):
        return datetime(int(alone[1]), int(alone[2] or 1), 1, tzinfo=UTC)
    if ordinal := _DAY_OF_YEAR.match(text):
        text = _day_of_year(int(ordinal[1]), int(ordinal[2])).isoformat() + text[ordinal.end() :]
    start_of_day, ends = _END_OF_DAY.subn("T00", text)
    return datetime.fromisoformat(start_of_day) + timedelta(days=ends)


def _day_of_year(year: int, number: int) -> date:
    found = date(year, 1, 1) + timedelta(days=number - 1)
    if found.year != year:
        raise ValueError(number)
    return found


def optional_moment(text: str | None, *, now: datetime, field: str) -> datetime | None:
    """Read a moment that may be missing."""
    return None if text is None else moment(text, now=now, field=field)
