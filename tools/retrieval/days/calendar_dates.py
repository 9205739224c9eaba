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
from tools.retrieval.days.spans import Date, days, mapped, months, weekend_near, years

_THROUGH = ("to", "through", "thru", "till", "until")
_MOST_DAYS = 8
"""Days of a month that are named at once, as in “3, 5 and 7 June”."""
_NO_PLURALS = frozenset({"is", "was", "has", "does", "as", "vs", "its", "this", "plus"})
_HOURS = frozenset({"am", "pm", "oclock"})


class _Days(NamedTuple):
    first: int
    last: int
    is_range: bool = False


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
    return _of_days(cursor, the_month, named, the_year)


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
    is_range = False
    for _ in range(_MOST_DAYS):
        joined = cursor.tried(partial(_another_day, is_last=is_last))
        if joined is None:
            break
        word, day = joined
        is_range |= word in _THROUGH or (is_between and word == "and")
        first, last = min(first, day), max(last, day)
        # From the fifth to the third there are no days.
        if is_range and day != last:
            return None
    return _Days(first, last, is_range)


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
    return _with_weekend(cursor, date)


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
    return Date(partial(months, 3 * quarter[0] - 2, 3 * quarter[0]), the_year)


def _ten_years(cursor: Cursor) -> Date | None:
    """Read “the 1990s”."""
    cursor.word("the")
    token = cursor.peek()
    return Date(partial(years, 10), token.numbers[0]) if cursor.sign("decade") else None


def bare_date(cursor: Cursor) -> Date | None:
    """Read a month or a year, which only the words around tell from something else."""
    cursor.words("the", "month", "of")
    if is_whole_month(cursor.peek()):
        number = month(cursor)
        return None if number is None else Date(partial(months, number, number), year_of(cursor))
    cursor.words("the", "year")
    cursor.word("the", "year")
    the_year = None if _are_many(cursor) else year(cursor)
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
    """Whether a number behind “of” says how many: “of 2000 rows”."""
    after = cursor.peek(1)
    is_plural = after.kind == "word" and after.text.endswith("s") and after.text not in _NO_PLURALS
    return cursor.peek(-1).text == "of" and is_plural
