"""Phrases of dates: ranges, lists, and words that open a side."""

from collections.abc import Iterator, Sequence
from functools import partial

from stores.language.moments import Span
from tools.retrieval.days.calendar_dates import calendar_date
from tools.retrieval.days.cursor import MONTHS, SHORT_MONTHS, TIMING, Cursor, is_whole_month
from tools.retrieval.days.parts import BEGINNING, fill, names_modal, one_date, part
from tools.retrieval.days.spans import NOTHING, Date, reaching
from tools.retrieval.days.tokens import Token, is_year

_PREPOSITIONS = ("in", "of", "during", "throughout", "on")
_OPENING_TABLE = (
    "before|after|by|until|till|til|beyond|past|following|preceding|pre|post|except|excluding|besides|prior to|up to|"
    "leading up to|later than|earlier than|sooner than|older than|newer than|other than|rather than|instead of|next to"
)
_OPENING = [tuple(words.split()) for words in _OPENING_TABLE.split("|")]
"""Words after which it is not the date that is meant, but all before or after it, or all others."""
_PARTICLES = frozenset({"after", "by", "past", "following"})
"""Of these, those that belong to the word before them where a preposition follows: “looked after in 2016”."""
_TELLING_TABLE = "yesterday today tonight this current last past previous ago"
TELLING = frozenset({*MONTHS, *SHORT_MONTHS, *_TELLING_TABLE.split()})
"""Words of which there is one in each phrase that names days, unless it has a number."""
_TO = ("to", "until", "till", "through", "thru")
_ONWARD = ("onward", "onwards", "forward")
_NOW = frozenset({"now", "today", "date", "present"})
_MOST_LISTED = 8
_FIRST_OPENING = frozenset(words[0] for words in _OPENING)
_LONG_OPENING = frozenset(words[0] for words in _OPENING if len(words) > 1)
_INTRODUCING = frozenset({"since", "between", "from", "the", *_PREPOSITIONS, *_FIRST_OPENING}) - _LONG_OPENING
_GOING_ON = _INTRODUCING | BEGINNING


def _may_begin(cursor: Cursor) -> bool:
    """Whether a phrase may begin here, at a glance: nearly nowhere does one."""
    token = cursor.peek()
    if token.kind != "word":
        return token.kind in {"number", "nth", "date", "quarter", "decade"}
    if token.text in _INTRODUCING:
        after = cursor.peek(1)
        return after.kind not in {"stop", "comma"} and (after.kind != "word" or after.text in _GOING_ON)
    return token.text in BEGINNING or token.text in _LONG_OPENING


def is_telling(token: Token) -> bool:
    """Whether a token may be what makes a phrase one that names days; without any there is none."""
    if token.kind == "word":
        return token.text in TELLING
    return token.kind in {"date", "quarter", "decade"} or (token.kind == "number" and is_year(token.numbers[0]))


def dates_of(cursor: Cursor) -> Iterator[Date]:
    """Read the dates of a question, in their order."""
    while not cursor.is_done:
        found = cursor.tried_phrase(_phrase) if _may_begin(cursor) else None
        cursor.at += found is None
        yield from found or ()


def _phrase(cursor: Cursor) -> Sequence[Date] | None:
    """Read the dates of one phrase; an empty list where it names some that are not meant themselves."""
    for read in (_since, _open, _between, _from):
        found = cursor.tried(read)
        if found is not None:
            return found
    if cursor.word(*_PREPOSITIONS):
        return _dates(cursor, is_bare=True)
    return _dates(cursor, is_bare=False)


def _since(cursor: Cursor) -> Sequence[Date] | None:
    if not cursor.word("since"):
        return None
    fill(cursor)
    found = one_date(cursor, is_bare=True)
    return None if found is None else [_until_asked(cursor, found)]


def _until_asked(cursor: Cursor, date: Date) -> Date:
    """From a date until the question is asked; without a year, from the last one that has begun."""
    asked_at = cursor.asked_at
    year = asked_at.year

    def reaching_now(_: int) -> Span | None:
        for each in (year, year - 1) if date.year is None else (date.year,):
            span = date.within(each)
            if span is not None and span.start < asked_at:
                return Span(span.start, asked_at)
        return None

    return Date(reaching_now, year, is_told=False)


def _open(cursor: Cursor) -> Sequence[Date] | None:
    if cursor.peek().text in _PARTICLES and cursor.peek(1).text in _PREPOSITIONS:
        return None
    if cursor.peek().text not in _FIRST_OPENING or not cursor.phrase_of(*_OPENING):
        return None
    cursor.sign("dash")
    fill(cursor)
    return None if _dates(cursor, is_bare=True) is None else []


def _between(cursor: Cursor) -> Sequence[Date] | None:
    """Read “between May and June 2023”, “between 5 and 9 May”; what it is between, if not two dates, is no date."""
    if not cursor.word("between"):
        return None
    first = cursor.tried(partial(calendar_date, is_bare=True, is_between=True)) or one_date(cursor, is_bare=True)
    if first is None:
        return None
    if first.is_several:
        return [first]
    cursor.sign("comma")
    if not (cursor.word("and", *_TO) or cursor.sign("dash")):
        return []
    last = one_date(cursor, is_bare=True)
    return [] if last is None else [reaching(first, last)]


def _from(cursor: Cursor) -> Sequence[Date] | None:
    """Read “from 5 May to 2 June”, “from May 2023 on”, “from 2023”; a month alone may be a name."""
    # Two weeks from a day are of no day before it.
    is_later = cursor.peek(-1).text in TIMING
    if not cursor.word("from"):
        return None
    is_month_alone = is_whole_month(cursor.peek())
    first = one_date(cursor, is_bare=True)
    if first is None:
        return None
    if last := cursor.tried(_last_of_range):
        return [reaching(first, last)]
    if cursor.tried(_is_onward):
        return [_until_asked(cursor, first)]
    if is_later:
        return []
    is_month_alone &= cursor.peek(-1).kind == "word" and first.year is None
    return None if is_month_alone else [first]


def _last_of_range(cursor: Cursor) -> Date | None:
    if not (cursor.word(*_TO) or cursor.sign("dash")):
        return None
    if names_modal(cursor):
        return None
    return one_date(cursor, is_bare=True)


def _is_onward(cursor: Cursor) -> bool | None:
    if cursor.word(*_ONWARD) or (cursor.peek(1).kind != "word" and cursor.word("on")):
        return True
    if not (cursor.word(*_TO) or cursor.sign("dash")):
        return None
    cursor.word("the")
    return cursor.word(*_NOW) is not None or None


def _dates(cursor: Cursor, *, is_bare: bool) -> Sequence[Date] | None:
    """Read a date, a range, or a list of dates; months that are listed may have their year behind the last."""
    found = cursor.tried(partial(_listed, is_bare=is_bare))
    if found is None and not is_bare and (is_whole_month(cursor.peek()) or cursor.peek().kind == "quarter"):
        found = cursor.tried(partial(_listed, is_bare=True))
        # Two words that could be months are some only where a year says so.
        if found is not None and not any(date.year is not None and date is not NOTHING for date in found):
            found = None
    return found


def _listed(cursor: Cursor, *, is_bare: bool) -> Sequence[Date] | None:
    first = one_date(cursor, is_bare=is_bare)
    if first is None:
        return None
    if last := cursor.tried(_last_of_range):
        return [reaching(first, last)]
    found = [first]
    for _ in range(_MOST_LISTED):
        more = cursor.tried(partial(_another, is_bare=is_bare))
        if more is None:
            break
        found.append(more)
    return list(_with_years(found))


def _another(cursor: Cursor, *, is_bare: bool) -> Date | None:
    """Read “and June”, “, 2022”, “or 5 May” behind a date."""
    has_comma = cursor.sign("comma")
    if not cursor.word("and", "or") and not has_comma:
        return None
    cursor.word("in", "on")
    if names_modal(cursor):
        return None
    return part(cursor) or calendar_date(cursor, is_bare=is_bare)


def _with_years(found: Sequence[Date]) -> Iterator[Date]:
    """Give the dates without a year that of the next one that has one, else that of the one before."""
    for place, date in enumerate(found):
        others = (*found[place + 1 :], *reversed(found[:place]))
        year = next((other.year for other in others if other.year is not None), None)
        yield date._replace(year=year) if date.year is None else date
