"""Arithmetic of days: what a calendar says, parts of spans, and what lies beside them. Pure."""

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from stores.language.moments import Span

DAYS_OF: dict[str, float] = {
    "hour": 1 / 24, "day": 1, "weekend": 7, "week": 7, "fortnight": 14, "month": 30, "quarter": 91, "year": 365,
    "decade": 3_652,
}  # fmt: skip
"""From one to the next."""
DAY = timedelta(days=1)
WEEK = timedelta(days=7)
MOST_WEEKS = 5
THIRDS = {"early": (0.0, 0.35), "mid": (0.3, 0.7), "late": (0.65, 1.0)}
"""Which share of a span is its early, middle or late part: nobody counts them, so they overlap."""


class Date(NamedTuple):
    """What a phrase names: in some year, or in whichever."""

    within: Callable[[int], Span | None]
    """The span of it in a year; None where that year has none. What has a year of its own is asked for that."""
    year: int | None = None
    is_told: bool = True
    """Whether it is told of later, too: not where it reaches until the question is asked."""
    is_several: bool = False
    """Whether it names a first and a last day by itself."""


def fixed(span: Callable[[], Span | None], year: int, *, is_told: bool = True) -> Date:
    """A date that depends on no year; it is worked out when it is asked for."""
    return Date(lambda _: span(), year, is_told=is_told)


def mapped(date: Date, change: Callable[[Span], Span | None]) -> Date:
    """The date whose span is made of another one's."""
    return Date(partial(_mapped, date.within, change), date.year)


def _mapped(within: Callable[[int], Span | None], change: Callable[[Span], Span | None], year: int) -> Span | None:
    span = within(year)
    return None if span is None else change(span)


NOTHING = Date(lambda _: None, 1)
"""What was read, and names no days that one could look for."""


def days(month: int, first: int, last: int, year: int) -> Span | None:
    """Some days of a month; None where they are in no calendar."""
    if not 1 <= first <= last <= monthrange(year, month)[1]:
        return None
    return Span(datetime(year, month, first, tzinfo=UTC), datetime(year, month, last, tzinfo=UTC) + DAY)


def months(first: int, last: int, year: int) -> Span:
    """Some months of a year."""
    start = datetime(year, first, 1, tzinfo=UTC)
    return Span(start, datetime(year, last, monthrange(year, last)[1], tzinfo=UTC) + DAY)


def years(count: int, year: int) -> Span:
    """Some years."""
    return Span(months(1, 12, year).start, months(1, 12, year + count - 1).end)


def reaching(first: Date, last: Date) -> Date:
    """From one date to another; of which one has no year, it has that of the other, or the next to it."""
    year = first.year if last.year is None else last.year
    return Date(partial(_reaching, first, last), year, is_told=last.is_told)


def _reaching(first: Date, last: Date, year: int) -> Span | None:
    begins = first.within(year if first.year is None else first.year)
    ends = last.within(year if last.year is None else last.year)
    if begins is None or ends is None:
        return None
    if begins.start > ends.start and begins.start.month > ends.start.month:
        if first.year is None:
            begins = first.within(year - 1)
        elif last.year is None:
            ends = last.within(year + 1)
    if begins is None or ends is None or begins.start > ends.start:
        return None
    return Span(begins.start, max(begins.end, ends.end))


def third(which: str, span: Span) -> Span:
    """The early, middle or late part; of a day or two all."""
    length = (span.end - span.start).days
    if length < 3:
        return span
    first, last = (timedelta(days=round(length * share)) for share in THIRDS[which])
    return Span(span.start + first, span.start + last)


def half(number: int, span: Span) -> Span | None:
    """The first or the second half; -1 is the second."""
    middle = span.start + timedelta(days=(span.end - span.start).days // 2)
    return {1: Span(span.start, middle), 2: Span(middle, span.end), -1: Span(middle, span.end)}.get(number)


def nth(unit: str, number: int, span: Span) -> Span | None:
    """The so-manieth day, week, weekend, month or quarter of a span, -1 for the last; weeks begin with it."""
    if unit == "weekend":
        return nth_weekday(5, number, span, length=2)
    if unit in {"month", "quarter"}:
        size = 1 if unit == "month" else 3
        count = 12 // size
        if (span.end - span.start).days < 365 or not -1 <= number <= count:
            return None
        place = count if number == -1 else number
        return months(size * place - size + 1, size * place, span.start.year)
    length = timedelta(days=DAYS_OF[unit])
    # With which day the tenth week of a year begins is not agreed upon, and not every year has a 53rd.
    if number > MOST_WEEKS and length > DAY:
        return None
    start = span.end - length if number == -1 else span.start + (number - 1) * length
    return Span(start, min(start + length, span.end)) if span.start <= start < span.end else None


def nth_weekday(weekday: int, number: int, span: Span, *, length: int = 1) -> Span | None:
    """The so-manieth Monday or the like, -1 for the last."""
    if number == -1:
        start = span.end - DAY - timedelta(days=(span.end - DAY).weekday() - weekday) % WEEK
    else:
        start = span.start + timedelta(days=weekday - span.start.weekday()) % WEEK + (number - 1) * WEEK
    return Span(start, start + length * DAY) if span.start <= start < span.end else None


def ends(side: str, length: timedelta, span: Span) -> Span:
    """The first or the last days of a span."""
    if side == "first":
        return Span(span.start, min(span.start + length, span.end))
    return Span(max(span.end - length, span.start), span.end)


def next_to(unit: str, side: str, span: Span) -> Span:
    """The day, week, weekend or the like next to a span, before or after it."""
    if unit == "weekend":
        days_back = (span.start.weekday() - 5) % 7 or 7
        start = span.start - days_back * DAY if side == "before" else span.end + (5 - span.end.weekday()) % 7 * DAY
        return Span(start, start + 2 * DAY)
    length = timedelta(days=DAYS_OF[unit])
    return Span(span.start - length, span.start) if side == "before" else Span(span.end, span.end + length)


def weekday_next_to(weekday: int, side: str, span: Span) -> Span:
    """The last Monday or the like before a span, or the first one after it."""
    if side == "before":
        start = span.start - ((span.start.weekday() - weekday - 1) % 7 + 1) * DAY
    else:
        start = span.end + (weekday - span.end.weekday()) % 7 * DAY
    return Span(start, start + DAY)


def around_it(unit: str, span: Span) -> Span:
    """The week, weekend or the like that a date belongs to."""
    if unit == "weekend":
        return weekend_near(span)
    if unit == "week":
        start = span.start - span.start.weekday() * DAY
        return Span(start, max(span.end, start + WEEK))
    if unit not in {"month", "year"}:
        return span
    whole = (
        months(1, 12, span.start.year)
        if unit == "year"
        else months(span.start.month, span.start.month, span.start.year)
    )
    return Span(whole.start, max(whole.end, span.end))


def weekend_near(span: Span) -> Span:
    """A date with the Saturday and Sunday nearest to it."""
    back = (span.start.weekday() - 5) % 7
    saturday = span.start + (-back if back <= 3 else 7 - back) * DAY
    return Span(min(saturday, span.start), max(saturday + 2 * DAY, span.end))


def apart(low: float, high: float, unit: str, way: int, span: Span) -> Span:
    """What lies so far from a span, one way: to the day for days, to half a week, month or year for these."""
    length = DAYS_OF[unit]
    slack = timedelta(days=int(length / 2))
    near, far = way * timedelta(days=low * length), way * timedelta(days=high * length)
    return Span(span.start + min(near, far) - slack, span.end + max(near, far) + slack)


def padded(span: Span) -> Span:
    """A span with what is about there: some days around a day, a third of its length around others."""
    length = span.end - span.start
    pad = 3 * DAY if length <= 2 * DAY else timedelta(days=length.days // 3)
    return Span(span.start - pad, span.end + pad)


def period(unit: str, back: int, today: datetime) -> Span:
    """The current week, weekend, month, quarter or year for 0, else the so-manieth before it."""
    if unit == "weekend":
        saturday = today + (5 - today.weekday()) * DAY
        # On a Sunday, that is yesterday; before Saturday the current one is still to come.
        start = saturday - back * WEEK
    elif unit == "week":
        start = today - today.weekday() * DAY - back * WEEK
    elif unit == "year":
        return months(1, 12, today.year - back)
    else:
        size = 1 if unit == "month" else 3
        place = today.year * 12 + (today.month - 1) // size * size - back * size
        return months(place % 12 + 1, place % 12 + size, place // 12)
    return Span(start, start + (2 * DAY if unit == "weekend" else WEEK))
