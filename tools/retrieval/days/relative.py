"""Dates that count from when the question is asked: “yesterday”, “last week”, “three weeks ago”, “in the past year”."""

from datetime import datetime, timedelta
from functools import partial

from stores.language.moments import Span
from tools.retrieval.days.calendar_dates import calendar_date, date_in
from tools.retrieval.days.cursor import (
    COUNTING,
    TIMING,
    Count,
    Cursor,
    count,
    is_also_verb,
    is_whole_month,
    month,
    unit,
    weekday,
)
from tools.retrieval.days.spans import (
    DAY,
    DAYS_OF,
    NOTHING,
    Date,
    apart,
    fixed,
    months,
    period,
)

_LAST = ("last", "previous", "past")
_CURRENT = ("this", "current")
_THESE = ("these", "those")
_MOST_REPEATED = 3
PERIODS = {"weekend", "week", "month", "quarter", "year"}
OPEN_COUNTS = (("more", "than"), ("at", "least"), ("at", "most"), ("no", "more", "than"), ("well", "over"), ("over",))
"""What before a count says that it is not that far, but further or nearer."""
WITHIN = (("less", "than"), ("under",), ("within",))


_COUNTING = COUNTING | TIMING | {"half"} | {words[0] for words in (*OPEN_COUNTS, *WITHIN)}
OPENING = frozenset({*_LAST, *_CURRENT, *_THESE, "yesterday", "today", "tonight"}) | _COUNTING
"""Words with which a date that counts from today may begin."""


def relative_date(cursor: Cursor) -> Date | None:
    """Read a date that counts from today."""
    if not cursor.opens_with(OPENING, "number"):
        return None
    for read in (_day, _before_last, _ago, _current, _last, _weekday_of_week):
        found = cursor.tried(read)
        if found is not None:
            return found
    return None


def _on(cursor: Cursor, back: int) -> Date:
    """The day that is so many days back."""
    today = cursor.today
    return fixed(lambda: Span(today - back * DAY, today - (back - 1) * DAY), cursor.asked_at.year)


def _period(cursor: Cursor, unit: str, back: int) -> Date:
    return fixed(partial(period, unit, back, cursor.today), cursor.asked_at.year)


def _rolling(cursor: Cursor, length_days: float) -> Date:
    """So many days until now, of which the first is whole."""
    asked_at, today = cursor.asked_at, cursor.today
    start = partial(_start_of_rolling, asked_at, today, length_days)
    return fixed(lambda: Span(start(), asked_at), asked_at.year, is_told=False)


def _start_of_rolling(asked_at: datetime, today: datetime, length_days: float) -> datetime:
    return (asked_at if length_days < 1 else today) - timedelta(days=length_days)


def _day(cursor: Cursor) -> Date | None:
    if cursor.words("the", "day", "before", "yesterday") or cursor.words("day", "before", "yesterday"):
        return _on(cursor, 2)
    if cursor.words("last", "night") or cursor.word("yesterday"):
        return _on(cursor, 1)
    if cursor.word("today", "tonight"):
        return _on(cursor, 0)
    is_today = cursor.word("this") and cursor.word("morning", "afternoon", "evening")
    return _on(cursor, 0) if is_today else None


def _before_last(cursor: Cursor) -> Date | None:
    """Read “the week before last”, “the Friday before last”."""
    cursor.word("the")
    is_night = cursor.peek().text == "night"
    day = weekday(cursor)
    length = None if day is not None else unit(cursor)
    if not cursor.words("before", "last") or _names_more(cursor):
        return None
    if day is not None:
        return _last_weekday(cursor, day, 2)
    if is_night:
        return _on(cursor, 2)
    return _period(cursor, length, 2) if length in PERIODS else None


def _names_more(cursor: Cursor) -> bool:
    """Whether “last” belongs to what follows."""
    at = cursor.at
    found = unit(cursor) is not None or weekday(cursor) is not None or is_whole_month(cursor.peek())
    cursor.at = at
    return found


def _ago(cursor: Cursor) -> Date | None:
    """Read “two weeks ago”, “a week or two ago”, “half a year ago”, “over a year ago”, “two Fridays ago”."""
    if cursor.peek().kind != "number" and cursor.peek().text not in _COUNTING:
        return None
    is_open = cursor.phrase_of(*OPEN_COUNTS)
    is_within = not is_open and cursor.phrase_of(*WITHIN)
    found = cursor.tried(_half_ago) or cursor.tried(_counted_ago)
    if found is None:
        return None
    many, of = found
    from_day = cursor.word("today", "yesterday")
    if is_open:
        return NOTHING
    if is_within:
        return NOTHING if of.isdigit() else _rolling(cursor, many.high * DAYS_OF[of])
    exactly = _exactly_ago(cursor, many, of, from_day) if many.low == many.high else None
    return exactly or _about_ago(cursor, many, of)


def _exactly_ago(cursor: Cursor, many: Count, of: str, from_day: str | None) -> Date | None:
    if of.isdigit():
        return _last_weekday(cursor, int(of), int(many.high))
    if of == "weekend":
        return _period(cursor, of, int(many.high))
    return None if from_day is None else _on(cursor, int(many.high * DAYS_OF[of]) + (from_day == "yesterday"))


def _about_ago(cursor: Cursor, many: Count, of: str) -> Date:
    if of.isdigit():
        return NOTHING
    is_hour = of == "hour"
    start = cursor.asked_at.replace(minute=0, second=0, microsecond=0) if is_hour else cursor.today
    length = timedelta(hours=1) if is_hour else DAY
    return fixed(lambda: apart(many.low, many.high, of, -1, Span(start, start + length)), cursor.asked_at.year)


def _half_ago(cursor: Cursor) -> tuple[Count, str] | None:
    if not cursor.word("half"):
        return None
    cursor.word("a", "an")
    of = unit(cursor)
    return (Count(0.5, 0.5), of) if of is not None and cursor.word("ago") else None


def _counted_ago(cursor: Cursor) -> tuple[Count, str] | None:
    many = count(cursor)
    if many is None:
        return None
    many = _with_half(cursor, cursor.tried(partial(_or_more, many)) or many)
    day = weekday(cursor)
    of = unit(cursor) if day is None else str(day)
    if of is None:
        return None
    many = _with_half(cursor, cursor.tried(partial(_or_more, many)) or many)
    if day is None and (more := cursor.tried(_and_more)):
        share = DAYS_OF[of] / DAYS_OF[more[1]]
        many, of = Count(many.low * share + more[0].low, many.high * share + more[0].high), more[1]
    return (many, of) if cursor.word("ago") else None


def _with_half(cursor: Cursor, many: Count) -> Count:
    return Count(many.low + 0.5, many.high + 0.5) if cursor.words("and", "a", "half") else many


def _and_more(cursor: Cursor) -> tuple[Count, str] | None:
    """Read “and two months” in “a year and two months ago”."""
    many = count(cursor) if cursor.word("and") else None
    of = unit(cursor) if many is not None else None
    return None if many is None or of is None else (many, of)


def _or_more(many: Count, cursor: Cursor) -> Count | None:
    """Read “or three”, “to 3”, “-3” behind a count."""
    if not (cursor.word("or", "to") or cursor.sign("dash")):
        return None
    more = cursor.tried(lambda cursor: Count(many.low, many.high + 2) if cursor.word("so", "more") else None)
    more = more or count(cursor)
    return None if more is None else Count(many.low, max(many.high, more.high))


def _last_weekday(cursor: Cursor, day: int, back: int) -> Date:
    days_back = ((cursor.today.weekday() - day) % 7 or 7) + 7 * (back - 1)
    return _on(cursor, days_back)


def _current(cursor: Cursor) -> Date | None:
    """Read “this week”, “this past Friday”, “this May”."""
    if not cursor.word(*_CURRENT):
        return None
    if found := cursor.tried(_last):
        return found
    day = weekday(cursor)
    if day is not None:
        date = _of_week(cursor, 0, day)
        return cursor.tried(_exactly) or date
    if is_whole_month(cursor.peek()) and not is_also_verb(cursor.peek()):
        number = month(cursor) or 1
        return Date(partial(months, number, number), cursor.asked_at.year)
    length = unit(cursor)
    return _narrowed(cursor, length, 0) if length in PERIODS else None


def _last(cursor: Cursor) -> Date | None:
    """Read “last week”, “last last week”, “the past two months”, “last Friday”, “last May”."""
    cursor.word(*_THESE)
    has_article = cursor.word("the") is not None
    is_past = cursor.peek().text == "past"
    back = 0
    while cursor.word(*_LAST):
        back += 1
    if not back:
        return None
    if back > _MOST_REPEATED:
        return NOTHING
    if many := cursor.tried(_so_many):
        return _rolling(cursor, many)
    day = weekday(cursor)
    if day is not None:
        date: Date | None = cursor.tried(_exactly) or cursor.tried(partial(_in_week, day))
        date = date or _last_weekday(cursor, day, back)
    elif is_whole_month(cursor.peek()):
        return _last_month_called(cursor)
    else:
        date = _last_of_unit(cursor, back, is_past=is_past, has_article=has_article)
    # The last week of a thing that is no date.
    return NOTHING if date is not None and cursor.peek().text == "of" else date


def _last_of_unit(cursor: Cursor, back: int, *, is_past: bool, has_article: bool) -> Date | None:
    is_plural = cursor.peek().text.endswith("s")
    length = unit(cursor)
    if length is None or is_plural:
        return None if length is None else NOTHING
    if back == 1 and length != "weekend" and (is_past or (has_article and length != "day")):
        return _lately(cursor, length, is_past=is_past)
    return _narrowed(cursor, length, back) if length in PERIODS else None


def _so_many(cursor: Cursor) -> float | None:
    """Read “two months”: how many days that is."""
    # What may last a few weeks is no time of the past.
    many = None if cursor.peek().text in {"a", "an"} else count(cursor)
    of = unit(cursor) if many is not None else None
    return None if many is None or of is None else many.high * DAYS_OF[of]


def _lately(cursor: Cursor, length: str, *, is_past: bool) -> Date:
    """“The past week” is the seven days until now; “the last week” may be the one before this, too."""
    asked_at, today = cursor.asked_at, cursor.today
    if is_past or length not in PERIODS:
        return _rolling(cursor, DAYS_OF[length])
    return fixed(
        lambda: Span(min(period(length, 1, today).start, today - timedelta(days=DAYS_OF[length])), asked_at),
        asked_at.year,
        is_told=False,
    )


def _narrowed(cursor: Cursor, length: str, back: int) -> Date:
    """“Last week on Friday”, “last year in May”: the day or month, else all of the week or year."""
    whole = _period(cursor, length, back)
    if length == "week":
        return cursor.tried(partial(_weekday_after, back)) or whole
    if length == "year":
        return date_in(cursor, cursor.asked_at.year - back) or whole
    return whole


def _weekday_after(back: int, cursor: Cursor) -> Date | None:
    cursor.sign("comma")
    cursor.word("on")
    day = weekday(cursor)
    return None if day is None else _of_week(cursor, back, day)


def _exactly(cursor: Cursor) -> Date | None:
    """Read “, May 8” behind “last Monday”: then that is the day."""
    cursor.sign("comma")
    cursor.word("the")
    return calendar_date(cursor)


def _last_month_called(cursor: Cursor) -> Date | None:
    """Read “last May”, “last May 5th”: of this year, if it is over, or of the last."""
    name = cursor.peek()
    at = cursor.at
    day = calendar_date(cursor)
    if day is not None and day.year is not None:
        return day
    if day is None:
        cursor.at = at
        number = month(cursor) or 1
        if is_also_verb(name) and cursor.peek().kind == "word" and cursor.peek().text in {"be", "have", "not"}:
            return None
        day = Date(partial(months, number, number))
    within, asked_at = day.within, cursor.asked_at
    return fixed(lambda: _last_or_before(within(asked_at.year), within(asked_at.year - 1), asked_at), asked_at.year)


def _last_or_before(this_years: Span | None, last_years: Span | None, asked_at: datetime) -> Span | None:
    return this_years if this_years is not None and this_years.end <= asked_at else last_years


def _in_week(day: int, cursor: Cursor) -> Date | None:
    """Read “of last week” behind a weekday."""
    cursor.word("of", "in")
    which = cursor.word("last", "previous", "this")
    if not which or unit(cursor) != "week":
        return None
    return _of_week(cursor, 0 if which == "this" else 1, day)


def _weekday_of_week(cursor: Cursor) -> Date | None:
    """Read “Monday of last week”, “Friday this week”."""
    day = weekday(cursor)
    return None if day is None else _in_week(day, cursor)


def _of_week(cursor: Cursor, back: int, day: int) -> Date:
    today = cursor.today

    def named() -> Span:
        start = period("week", back, today).start + day * DAY
        return Span(start, start + DAY)

    return fixed(named, cursor.asked_at.year)
