"""Parsing of times to spans: ISO 8601 from a year to an instant, in any zone, or an age like `7d`."""

import re
from calendar import isleap, monthrange
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

LONGEST_READ = 200
"""Characters."""
LATEST = datetime.max.replace(tzinfo=UTC)

_RELATIVE = re.compile(r"([0-9]{1,6})\s*([hdwmy])", re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}
_MONTH_OR_YEAR = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?")
_DAY_OF_YEAR = re.compile(r"([0-9]{4})-?([0-9]{3})(?=$|T)")
# XML Schema has days with a zone and without a time.
_DAY_IN_ZONE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(Z|[+-][0-9]{2}:?[0-9]{2})")
_END_OF_DAY = re.compile(r"T24(?=(?::?00){0,2}(?:[.,]0+)?(?:Z|[+-][0-9:]+)?$)")
_PARTS = re.compile(
    r"(?:[0-9]{4}-?W(?P<week>[0-9]{2})(?P<weekday>-?[0-9])?|[0-9]{4}-?[0-9]{2}-?[0-9]{2})"
    r"(?:.(?P<hour>[0-9]{2})(?P<minute>:?[0-9]{2})?(?P<second>:?[0-9]{2})?)?"
)
_INSTANT = timedelta(microseconds=1)


class Span(NamedTuple):
    """Aware times; the end is exclusive."""

    start: datetime
    end: datetime

    @property
    def last(self) -> datetime:
        return max(self.start, self.end - _INSTANT)


def read_span(text: str, *, now: datetime) -> Span:
    """Parse a span: `2023-05` is all of May 2023, `2023-05-07T10:00` a minute.

    A time with seconds is an instant, as is an age, counted back from `now`. UTC without a zone. ValueError for
    other texts, and outside of the years 1 to 9999.
    """
    text = text.strip()
    try:
        if len(text) > LONGEST_READ:
            raise ValueError(len(text))
        if relative := _RELATIVE.fullmatch(text):
            return instant(now - timedelta(days=int(relative[1]) * _DAYS[relative[2].lower()]))
        return _iso(text.upper())
    except (OverflowError, ValueError):
        raise ValueError(f"{text[:LONGEST_READ]!r} is no moment.") from None


def span_of(value: object, *, now: datetime) -> Span | None:
    if not isinstance(value, str):
        return None
    try:
        return read_span(value, now=now)
    except ValueError:
        return None


def instant(moment: datetime) -> Span:
    return _lasting(moment, _INSTANT)


def _iso(text: str) -> Span:
    if alone := _MONTH_OR_YEAR.fullmatch(text):
        return _month_or_year(int(alone[1]), int(alone[2]) if alone[2] else None)
    if in_zone := _DAY_IN_ZONE.fullmatch(text):
        return _lasting(_utc(datetime.fromisoformat(f"{in_zone[1]}T00:00{in_zone[2]}")), timedelta(days=1))
    if ordinal := _DAY_OF_YEAR.match(text):
        text = _day_of_year(int(ordinal[1]), int(ordinal[2])).isoformat() + text[ordinal.end() :]
    start_of_day, ends = _END_OF_DAY.subn("T00", text)
    start = datetime.fromisoformat(start_of_day) + timedelta(days=ends)
    return _lasting(_utc(start), _precision(text))


def _month_or_year(year: int, month: int | None) -> Span:
    days = monthrange(year, month)[1] if month else 365 + isleap(year)
    return _lasting(datetime(year, month or 1, 1, tzinfo=UTC), timedelta(days=days))


def _day_of_year(year: int, number: int) -> date:
    found = date(year, 1, 1) + timedelta(days=number - 1)
    if found.year != year:
        raise ValueError(number)
    return found


def _precision(text: str) -> timedelta:
    parts = _PARTS.match(text)
    if parts is None or parts["second"]:
        return _INSTANT
    if parts["hour"]:
        return timedelta(minutes=1) if parts["minute"] else timedelta(hours=1)
    return timedelta(days=7 if parts["week"] and not parts["weekday"] else 1)


def _utc(read: datetime) -> datetime:
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)


def _lasting(start: datetime, length: timedelta) -> Span:
    return Span(start, start + min(length, LATEST - start))
