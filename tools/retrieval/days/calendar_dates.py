"""Dates of the calendar: “7 July 2023”, “June 3-5”, “2023-05-07”, “in May”, “Q1 2023”, “in the 1990s”."""

from functools import partial
from typing import NamedTuple

from tools.retrieval.days.cursor import (
    INTRODUCING,
    NAMING,
    Cursor,
    day_number,
    is_also_verb,
    is_whole_month,
    month,
    nth_in_words,
    weekday,
    year,
    year_of,
)
from tools.retrieval.days.spans import NOTHING, Date, days, mapped, months, weekend_near, years
from tools.retrieval.days.tokens import Token

_THROUGH = ("to", "through", "thru", "till", "until")
_MOST_DAYS = 8
"""Days of a month that are named at once, as in “3, 5 and 7 June”."""
_NO_PLURALS_TABLE = (
    "was has does as vs its always afterwards towards besides perhaps sometimes whereas says goes comes gets"
)
_NO_PLURALS = frozenset(_NO_PLURALS_TABLE.split())
_NO_PLURAL_ENDINGS = ("ss", "us", "is")
_COUNTED_TABLE = (
    "% \u2030 \u20ac $ \u00a3 \u00a5 \u00b0 percent pct ppm usd eur gbp chf jpy euro ms s sec min h hr g kg mg lb oz t "
    "m km cm mm mi mph kb mb gb tb kib mib gib hz khz mhz ghz w kw mw wh kwh v px pt dpi fps rpm qps rps "
    "people persons men women children feet hundred thousand million billion dozen"
)
_COUNTED = frozenset(_COUNTED_TABLE.split())
"""Units of measure, and what there may be many of without an “s”."""
_CONNECTING = frozenset({"in", "at", "and", "or", "was", "is", "did", "the", "with", "by", "when"})
_MOST_COUNTED = 99
"""A greater number behind a day is rather its year, unless it is followed by what is counted."""
_ERAS = frozenset({"bc", "bce", "ad", "ce"})
_HOURS = frozenset({"am", "pm", "oclock"})


class _Days(NamedTuple):
    first: int
    last: int
    is_range: bool = False
    ends_with_comma: bool = False
    """Whether nothing but a comma joins the last of them."""


def calendar_date(cursor: Cursor, *, is_bare: bool = False, is_between: bool = False) -> Date | None:
    """Read a date; where a word before it says so (`is_bare`), a month or a year alone is one, too.

    After “between”, what “and” joins are a first and a last day.
    """
    if not cursor.opens_with(NAMING, "date", "number", "nth", "quarter", "decade"):
        return None
    return cursor.tried(partial(_calendar_date, is_bare=is_bare, is_between=is_between))


def _calendar_date(cursor: Cursor, *, is_bare: bool, is_between: bool) -> Date | None:
    cursor.tried(_weekday_before)
    found = (
        cursor.tried(_in_digits)
        or cursor.tried(partial(_day_first, is_between=is_between))
        or cursor.tried(partial(_month_first, is_between=is_between))
        or cursor.tried(partial(_quarter, is_bare=is_bare))
        or cursor.tried(_ten_years)
    )
    if found is None and is_bare:
        return cursor.tried(bare_date)
    return found


def _weekday_before(cursor: Cursor) -> bool | None:
    """Pass over “Monday,” before a date."""
    if weekday(cursor) is None:
        return None
    cursor.sign("comma")
    cursor.word("the")
    token = cursor.peek()
    return token.kind in {"date", "nth", "number"} or is_whole_month(token) or None


def _in_digits(cursor: Cursor) -> Date | None:
    token = cursor.peek()
    if not cursor.sign("date"):
        return None
    the_year, the_month, *day = token.numbers
    if not day:
        return Date(partial(months, the_month, the_month), the_year)
    return _with_weekend(cursor, Date(partial(days, the_month, day[0], day[0]), the_year))


def _day_first(cursor: Cursor, *, is_between: bool) -> Date | None:
    """Read “7 July 2023”, “the 3rd and 5th of June”, “5-9 May”, “10 March of 2023”, “the third of June”."""
    before = cursor.peek(-1).text
    has_article = cursor.word("the") is not None
    # “Which of the 3 may differ” is no date.
    is_introduced = before in INTRODUCING and (not has_article or cursor.peek().kind == "nth")
    named = _days(cursor, is_between=is_between)
    if named is None:
        number = nth_in_words(cursor)
        if number is None or not cursor.word("of"):
            return None
        named, is_introduced = _Days(number, number), True
    elif cursor.word("of"):
        is_introduced = True
    else:
        cursor.sign("dash")
    name = cursor.peek()
    the_month = month(cursor)
    if the_month is None:
        return None
    the_year = year_of(cursor)
    if the_year is None and is_also_verb(name) and not is_introduced:
        return None
    return _of_days(cursor, the_month, named, the_year)


def _month_first(cursor: Cursor, *, is_between: bool) -> Date | None:
    """Read “July 7, 2023”, “June 3rd to 5th”, “May 2023”, “May the fourth”."""
    is_introduced = cursor.peek(-1).text in INTRODUCING | {"of", "the", "to"} or cursor.is_first
    name = cursor.peek()
    the_month = month(cursor)
    if the_month is None:
        return None
    named = cursor.tried(partial(_days_after_month, is_between=is_between))
    is_nth = cursor.peek(-1).kind != "number"
    is_joined = cursor.peek(-2).kind == "dash"
    the_year = year_of(cursor)
    if named is None:
        return None if the_year is None else Date(partial(months, the_month, the_month), the_year)
    if the_year is None and not named.is_range and is_joined:
        # “Oct-4” is a name of something.
        return None
    if the_year is None and is_also_verb(name) and not (is_introduced or is_nth):
        return None
    # “June 3, 5, 2023” names two days, “June 3, 5” rather a year.
    is_odd = the_year is None and named.ends_with_comma
    return NOTHING if is_odd else _of_days(cursor, the_month, named, the_year)


def _unless_odd(cursor: Cursor, date: Date) -> Date:
    """A date without a year is none where one follows that cannot be read: “1 January 0001”, “in May 1066”."""
    return NOTHING if date.year is None and _has_odd_year(cursor) else date


def _has_odd_year(cursor: Cursor) -> bool:
    """Whether a number follows that is no year that could be read, and neither a count nor another day."""
    ahead = cursor.peek().kind in {"comma", "dash"} or cursor.peek().text == "of"
    number, after = cursor.peek(ahead), cursor.peek(ahead + 1)
    if number.kind != "number":
        return False
    if after.kind != "word":
        return after.kind != "dash"
    if number.numbers[0] > _MOST_COUNTED or after.text in _ERAS:
        return not _is_counted(after)
    return after.text in _CONNECTING and cursor.peek(ahead + 2).kind not in {"number", "nth"}


def _days_after_month(cursor: Cursor, *, is_between: bool) -> _Days | None:
    if cursor.peek().kind == "dash" and cursor.peek(1).kind == "number":
        cursor.sign("dash")
    elif cursor.word("the"):
        number = nth_in_words(cursor)
        if number is not None:
            return _Days(number, number)
    return _days(cursor, is_between=is_between, is_last=True)


def _days(cursor: Cursor, *, is_between: bool, is_last: bool = False) -> _Days | None:
    """Read days of a month: the first, the last, and whether they are a range of them."""
    first = last = day_number(cursor)
    if first is None or last is None or cursor.peek().text in _HOURS:
        return None
    is_range = ends_with_comma = False
    for _ in range(_MOST_DAYS):
        joined = cursor.tried(partial(_another_day, is_last=is_last))
        if joined is None:
            break
        word, day = joined
        ends_with_comma = word == ","
        is_range |= word in _THROUGH or (is_between and word == "and")
        first, last = min(first, day), max(last, day)
        # From the fifth to the third there are no days.
        if is_range and day != last:
            return None
    return _Days(first, last, is_range, ends_with_comma)


def _another_day(cursor: Cursor, *, is_last: bool) -> tuple[str, int] | None:
    """Read “-5”, “to 5”, “and the 7th”, “, 9”; after a month, only what cannot be a count of something."""
    is_dash = cursor.sign("dash")
    has_comma = not is_dash and cursor.sign("comma")
    word = "to" if is_dash else cursor.word(*_THROUGH, "and", "or") or ("," if has_comma else None)
    if word is None:
        return None
    cursor.word("the")
    is_nth = cursor.peek().kind == "nth"
    day = day_number(cursor)
    if day is None or cursor.peek().text in _HOURS:
        return None
    return (word, day) if is_nth or is_dash or not is_last or _ends_days(cursor) else None


def _ends_days(cursor: Cursor) -> bool:
    """Whether after a number nothing follows of which there could be so many."""
    token = cursor.peek()
    if token.kind == "word":
        return token.text in {"and", "or", "of", "in", *_THROUGH} and cursor.peek(1).kind in {"number", "nth"}
    return token.kind != "dash"


def _of_days(cursor: Cursor, the_month: int, named: _Days, the_year: int | None) -> Date:
    date = Date(partial(days, the_month, named.first, named.last), the_year, is_several=named.is_range)
    return _with_weekend(cursor, _unless_odd(cursor, date))


def _with_weekend(cursor: Cursor, date: Date) -> Date:
    """Read “weekend” behind a day."""
    if not cursor.word("weekend"):
        return date
    return mapped(date, weekend_near)._replace(year=date.year or year_of(cursor))


def _quarter(cursor: Cursor, *, is_bare: bool) -> Date | None:
    """Read “Q1 2023”, “Q1 of last year”, “2023 Q1”."""
    before = year(cursor)
    quarter = cursor.peek().numbers
    if not cursor.sign("quarter"):
        return None
    the_year = before or year_of(cursor)
    if the_year is None and not is_bare:
        return None
    return _unless_odd(cursor, Date(partial(months, 3 * quarter[0] - 2, 3 * quarter[0]), the_year))


def _ten_years(cursor: Cursor) -> Date | None:
    """Read “the 1990s”."""
    cursor.word("the")
    token = cursor.peek()
    return Date(partial(years, 10), token.numbers[0]) if cursor.sign("decade") else None


def bare_date(cursor: Cursor) -> Date | None:
    """Read a month or a year, which only the words around tell from something else."""
    cursor.words("the", "month", "of")
    if is_whole_month(cursor.peek()):
        number, the_year = month(cursor), year_of(cursor)
        return None if number is None else _unless_odd(cursor, Date(partial(months, number, number), the_year))
    is_said = cursor.words("the", "year") or cursor.word("the", "year") == "year"
    the_year = year(cursor) if is_said or not _are_many(cursor) else None
    if the_year is None:
        return None
    return date_in(cursor, the_year) or Date(partial(years, 1), the_year)


def date_in(cursor: Cursor, the_year: int) -> Date | None:
    """Read “, in May” or “on 5 May” behind a year."""
    found = cursor.tried(_date_in_year)
    return None if found is None else found._replace(year=the_year)


def _date_in_year(cursor: Cursor) -> Date | None:
    cursor.sign("comma")
    if not cursor.word("in", "on", "during"):
        return None
    # Another year would be read in the same way, and so on: a question of years only would go too deep.
    is_month = is_whole_month(cursor.peek()) or (cursor.peek().text == "the" and cursor.peek(1).text == "month")
    found = calendar_date(cursor, is_bare=is_month)
    return found if found is not None and found.year is None else None


def _are_many(cursor: Cursor) -> bool:
    """Whether a number says how many there are: “of 2000 rows”, “in 2000 ms”, “from 2000 to 2050 people”."""
    is_joined = cursor.peek(1).kind == "dash" or cursor.peek(1).text in {*_THROUGH, "and", "or"}
    return _is_counted(cursor.peek(3 if is_joined and cursor.peek(2).kind == "number" else 1))


def _is_counted(token: Token) -> bool:
    """Whether a word behind a number is what there are so many of."""
    if token.kind != "word" or token.is_capital:
        return token.text in _COUNTED
    is_plural = token.text.endswith("s") and not token.text.endswith(_NO_PLURAL_ENDINGS)
    return token.text in _COUNTED or (is_plural and token.text not in _NO_PLURALS)
