"""Which days a question speaks of: "in May 2023", "last week", "two days before 7 July". English, and days in UTC."""

import re
from calendar import monthrange
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

LONGEST_READ = 2_000
"""Characters of a question in which days are looked for."""
TOLD_WITHIN = timedelta(days=7)
"""What happened is often told of some days later: so long after a span still counts as of it."""
YEARS_BACK = 10
"""A day or month without a year is that of each of so many years."""
MOST_SPANS = 64


class Span(NamedTuple):
    """From a moment to another one, aware; the second is not of it."""

    start: datetime
    end: datetime


_MONTH_TABLE = "january february march april may june july august september october november december"
_WEEKDAY_TABLE = "monday tuesday wednesday thursday friday saturday sunday"
_COUNT_TABLE = "one two three four five six seven eight nine ten eleven twelve"
_MONTHS, _WEEKDAYS = tuple(_MONTH_TABLE.split()), tuple(_WEEKDAY_TABLE.split())
_COUNTS = {word: count for count, word in enumerate(_COUNT_TABLE.split(), start=1)}
_COUNTS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}
_DAYS_OF = {"day": 1, "night": 1, "weekend": 2, "week": 7, "month": 30, "year": 365}

_FULL = "|".join(_MONTHS)
_SHORT = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_MONTH = rf"(?P<month>{_FULL}|{_SHORT})\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_NTH = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?\b"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|night|weekend|week|month|year)s?\b"
# Two days before, the week of; or a word after which it is not the day itself that is meant.
_APART = rf"(?:(?:(?:{_COUNT}|the|last)\s+)?{_UNIT}\s+(?P<side>before|after|of)|(?P<open>before|after|by|until|since))"
_ALONE = r"(?:(?P<open>before|after|by|until|since)|in|of|during|last|this)(?:\s+(?:early|late|mid))?[\s-]+"
_DATES = [
    re.compile(rf"\b{form}", re.IGNORECASE)
    for form in (
        rf"(?:{_APART}\s+)?(?:the\s+)?{_NTH}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?",
        rf"(?:{_APART}\s+)?{_MONTH}\s+{_NTH}(?!:)(?:,?\s+{_YEAR})?",
        rf"(?:{_APART}\s+)?(?P<year>(?:19|20)\d\d)-(?P<number>0[1-9]|1[0-2])(?:-(?P<day>0[1-9]|[12]\d|3[01]))?(?![\d-])",
        rf"(?:{_APART}\s+)?{_MONTH},?\s+(?:of\s+)?{_YEAR}",
        rf"{_ALONE}(?P<month>{_FULL})\b",
        rf"{_ALONE}{_YEAR}",
    )
]
_NEAR = re.compile(
    r"(?<!before )(?<!after )(?<!until )(?<!by )"
    r"\b(?:(?P<day>the day before yesterday|yesterday|last night|today|tonight)"
    rf"|(?P<which>this|last|past|previous)\s+(?:(?P<one>weekend|week|month|year)|(?P<weekday>{'|'.join(_WEEKDAYS)}))\b"
    rf"|{_COUNT}\s+{_UNIT}\s+ago|(?:last|past|previous)\s+(?P<many>\d{{1,3}}|{'|'.join(_COUNTS)})\s+"
    r"(?P<units>day|night|week|month|year)s?)\b",
    re.IGNORECASE,
)
# Without one of these no form matches; most questions have none.
_HINT = re.compile(rf"\d|\b(?:{_FULL}|yesterday|today|tonight|this|last|past|previous|ago)\b", re.IGNORECASE)


def timespans(question: str, asked_at: datetime) -> list[Span]:
    """Return the spans that a question names, in their order; those that lie wholly in the future are left out.

    A word alone that opens a side ("before May") names none; "since" reaches until the question is asked.
    """
    left, asked_at = question[:LONGEST_READ], asked_at.astimezone(UTC)
    if _HINT.search(left) is None:
        return []
    found: list[Span] = []
    for form in _DATES:
        for match in islice(form.finditer(left), MOST_SPANS):
            found += _within_time(_dated(match, asked_at))
        left = form.sub(lambda match: " " * len(match.group()), left)
    for match in islice(_NEAR.finditer(left), MOST_SPANS):
        found += _within_time(_relative(match, asked_at))
    return sorted({span for span in found if span.start <= asked_at})[:MOST_SPANS]


def _within_time(spans: Iterator[Span]) -> Iterator[Span]:
    """Stop where a span would begin before the year 1, or end after the year 9999."""
    with suppress(OverflowError, ValueError):
        yield from spans


def _dated(match: re.Match[str], asked_at: datetime) -> Iterator[Span]:
    parts = match.groupdict()
    years = [int(parts["year"])] if parts.get("year") else range(asked_at.year, asked_at.year - YEARS_BACK, -1)
    for year in years:
        span = _calendar(year, _month_of(parts), int(parts["day"]) if parts.get("day") else None)
        if span is None:
            continue
        if parts["open"]:
            if parts["open"].lower() == "since" and span.start < asked_at:
                yield Span(span.start, asked_at)
                return
        elif parts.get("side"):
            yield _beside(span, parts)
        else:
            yield _told(span)


def _month_of(parts: dict[str, str | None]) -> int | None:
    if number := parts.get("number"):
        return int(number)
    name = parts.get("month")
    return None if not name else next(at for at, full in enumerate(_MONTHS, 1) if full.startswith(name.lower()[:3]))


def _calendar(year: int, month: int | None, day: int | None) -> Span | None:
    """A day, a month or a year; None for a day that is in no calendar."""
    first, last = month or 1, month or 12
    if day is not None and day > monthrange(year, first)[1]:
        return None
    start = datetime(year, first, day or 1, tzinfo=UTC)
    return Span(start, datetime(year, last, day or monthrange(year, last)[1], tzinfo=UTC) + timedelta(days=1))


def _beside(span: Span, parts: dict[str, str | None]) -> Span:
    """So many days, weeks or months before or after a date; the week, the weekend or the month next to it or of it."""
    unit, side = str(parts["unit"]).lower(), str(parts["side"]).lower()
    if side == "of":
        start = span.start - timedelta(days=span.start.weekday()) if unit == "week" else span.start
        return _told(Span(start, max(span.end, start + timedelta(days=_DAYS_OF[unit]))))
    if unit == "weekend":
        days_back = (span.start.weekday() - 5) % 7 or 7
        start = span.start - timedelta(days=days_back) if side == "before" else _next_saturday(span.end)
        return _told(Span(start, start + timedelta(days=2)))
    if parts["count"] is None:
        length = timedelta(days=_DAYS_OF[unit])
        return _told(Span(span.start - length, span.start) if side == "before" else Span(span.end, span.end + length))
    return _told(
        _around(span, timedelta(days=_count(parts["count"]) * _DAYS_OF[unit]), unit, 1 if side == "after" else -1)
    )


def _next_saturday(moment: datetime) -> datetime:
    return moment + timedelta(days=(5 - moment.weekday()) % 7)


def _around(span: Span, distance: timedelta, unit: str, way: int) -> Span:
    """What lies so far from a span: to the day for days, to half a week, month or year for these."""
    slack = timedelta(days=_DAYS_OF[unit] // 2)
    return Span(span.start + way * distance - slack, span.end + way * distance + slack)


def _count(word: str | None) -> int:
    return int(word) if word and word.isdigit() else _COUNTS[str(word).lower()]


def _relative(match: re.Match[str], asked_at: datetime) -> Iterator[Span]:
    parts = match.groupdict()
    today = asked_at.replace(hour=0, minute=0, second=0, microsecond=0)
    day = Span(today, today + timedelta(days=1))
    if parts["day"]:
        back = {"the day before yesterday": 2, "today": 0, "tonight": 0}.get(parts["day"].lower(), 1)
        yield _told(Span(*(moment - timedelta(days=back) for moment in day)))
    elif parts["weekday"]:
        back = (today.weekday() - _WEEKDAYS.index(parts["weekday"].lower())) % 7
        back = back or (0 if parts["which"].lower() == "this" else 7)
        yield _told(Span(*(moment - timedelta(days=back) for moment in day)))
    elif parts["one"]:
        yield _told(_period(parts["one"].lower(), today, is_this=parts["which"].lower() == "this"))
    elif parts["many"]:
        length = timedelta(days=_count(parts["many"]) * _DAYS_OF[parts["units"].lower()])
        yield Span(today - length, asked_at)
    else:
        unit = parts["unit"].lower()
        yield _told(_around(day, timedelta(days=_count(parts["count"]) * _DAYS_OF[unit]), unit, -1))


def _period(unit: str, today: datetime, *, is_this: bool) -> Span:
    """The current or the last week, weekend, month or year."""
    if unit == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7)
        start = saturday if is_this or saturday + timedelta(days=1) < today else saturday - timedelta(days=7)
        return Span(start, start + timedelta(days=2))
    if unit == "week":
        start = today - timedelta(days=today.weekday() + (0 if is_this else 7))
        return Span(start, start + timedelta(days=7))
    if unit == "month":
        first = today.replace(day=1)
        start = first if is_this else (first - timedelta(days=1)).replace(day=1)
        return Span(start, start + timedelta(days=monthrange(start.year, start.month)[1]))
    start = today.replace(year=today.year - (0 if is_this else 1), month=1, day=1)
    return Span(start, start.replace(year=start.year + 1))


def _told(span: Span) -> Span:
    return Span(span.start, span.end + TOLD_WITHIN)
