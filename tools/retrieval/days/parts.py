"""What is said of a date: a part of it, about it, and what lies beside it."""

from datetime import timedelta
from functools import partial
from typing import NamedTuple

from stores.language.moments import Span
from tools.retrieval.days.calendar_dates import calendar_date
from tools.retrieval.days.cursor import (
    COUNTING,
    FIRSTS,
    NAMING,
    TENS,
    TIMING,
    Count,
    Cursor,
    count,
    is_also_verb,
    ordinal,
    unit,
    weekday,
)
from tools.retrieval.days.relative import OPEN_COUNTS, OPENING, WITHIN, relative_date
from tools.retrieval.days.spans import (
    DAYS_OF,
    NOTHING,
    Date,
    apart,
    around_it,
    ends,
    half,
    mapped,
    next_to,
    nth,
    nth_weekday,
    padded,
    third,
    weekday_next_to,
)

_FILLING = frozenset({"the", "about", "around", "in", "on", "at", "during", "approximately", "roughly"})
_THIRD_OF = {
    "early": "early", "mid": "mid", "late": "late", "beginning": "early", "start": "early",
    "middle": "mid", "end": "late", "close": "late",
}  # fmt: skip
_ADJECTIVES = {"early", "mid", "late"}
_LAST = ("last", "final")
_ABOUT = ("around", "circa", "approximately", "roughly")
_PARTING = frozenset({*_THIRD_OF, *FIRSTS, *TENS, *_LAST, "thirtieth"})
_MEASURING = COUNTING | TIMING | {"last"} | {words[0] for words in (*OPEN_COUNTS, *WITHIN)}
BEGINNING = NAMING | OPENING | _PARTING | set(_ABOUT)
"""Words with which a date may begin, or what is said of one."""


def one_date(cursor: Cursor, *, is_bare: bool) -> Date | None:
    """Read one date with what is said of it."""
    # Of about 1900 things no year is named.
    is_bare_about = is_bare and cursor.peek(-1).text != "of"
    if cursor.tried(_about):
        near = _plain(cursor, is_bare=is_bare_about)
        return None if near is None else mapped(near, padded)
    return part(cursor) or cursor.tried(_beside) or _named(cursor, is_bare=is_bare)


def _about(cursor: Cursor) -> bool | None:
    return cursor.word(*_ABOUT) is not None or None


def _plain(cursor: Cursor, *, is_bare: bool) -> Date | None:
    """Read a date, or a part of one."""
    return part(cursor) or _named(cursor, is_bare=is_bare)


def part(cursor: Cursor) -> Date | None:
    """Read a part of a date."""
    if not cursor.opens_with(_PARTING, "nth"):
        return None
    return cursor.tried(_third) or cursor.tried(_numbered) or cursor.tried(_ends)


def _named(cursor: Cursor, *, is_bare: bool) -> Date | None:
    return calendar_date(cursor, is_bare=is_bare) or relative_date(cursor)


def _whole(cursor: Cursor) -> Date | None:
    """Read what something is a part of, or lies beside."""
    return _named(cursor, is_bare=True) or cursor.tried(_named_with_article)


def _named_with_article(cursor: Cursor) -> Date | None:
    return _named(cursor, is_bare=True) if cursor.word("the") else None


def _third(cursor: Cursor) -> Date | None:
    """Read “early May”, “mid-2023”, “the end of last month”, “in the middle of 2023”."""
    cursor.word("the")
    which = cursor.word(*_THIRD_OF)
    if which is None:
        return None
    cursor.sign("dash")
    # What begins in May is not the beginning of May.
    if not (cursor.word("of") or which in _ADJECTIVES):
        return None
    cursor.word("in")
    if names_modal(cursor):
        return None
    whole = _whole(cursor)
    return None if whole is None else mapped(whole, partial(third, _THIRD_OF[which]))


def _numbered(cursor: Cursor) -> Date | None:
    """Read “the first week of May”, “the second half of 2023”, “the last Friday in June 2023”."""
    cursor.word("the")
    number = _number(cursor)
    if number is None:
        return None
    is_half = cursor.word("half") is not None
    is_plural = cursor.peek().text.endswith("s")
    day = None if is_half else weekday(cursor)
    of = unit(cursor) if day is None and not is_half else None
    if not (is_half or day is not None or of not in {None, "hour", "year"}) or not cursor.word("of", "in"):
        return None
    whole = _whole(cursor)
    if whole is None:
        return None
    if is_half:
        return mapped(whole, partial(half, number))
    if is_plural:
        return mapped(whole, partial(third, "early" if number == 1 else "late")) if number in {1, -1} else NOTHING
    return mapped(whole, partial(nth, of, number) if of is not None else partial(nth_weekday, day or 0, number))


def _number(cursor: Cursor) -> int | None:
    if cursor.word(*_LAST):
        return -1
    token = cursor.peek()
    return token.numbers[0] if cursor.sign("nth") else ordinal(cursor)


def _ends(cursor: Cursor) -> Date | None:
    """Read “the first two weeks of May”, “the last few days of 2023”."""
    cursor.word("the")
    side = cursor.word("first", "last", "final")
    many = count(cursor) if side is not None else None
    of = unit(cursor) if many is not None else None
    if many is None or of is None or not cursor.word("of", "in"):
        return None
    whole = _whole(cursor)
    if whole is None:
        return None
    return mapped(whole, partial(ends, side or "", timedelta(days=many.high * DAYS_OF[of])))


def _beside(cursor: Cursor) -> Date | None:
    """Read “two days before 7 July”, “the week of 8 May”, “the Friday after 9 June”, “within a week of 5 May”."""
    if not cursor.opens_with(_MEASURING, "number"):
        return None
    is_open = cursor.phrase_of(*OPEN_COUNTS)
    is_within = not is_open and cursor.phrase_of(*WITHIN)
    is_all = cursor.word("the") is not None
    cursor.word("last")
    is_plural = cursor.peek().text.endswith("s")
    day = weekday(cursor)
    distance = _distance(cursor) if day is None else None
    if day is None and distance is None:
        return None
    side = _side(cursor)
    fill(cursor)
    near = None if side is None else _plain(cursor, is_bare=True)
    if near is None or side is None:
        return None
    if is_open:
        return NOTHING
    if distance is None:
        return _weekday_beside(near, day or 0, side, is_plural=is_plural)
    return _placed(near, distance, side, is_within=is_within, is_all=is_all)


def _weekday_beside(near: Date, day: int, side: str, *, is_plural: bool) -> Date | None:
    if side not in {"before", "after"}:
        return None
    return NOTHING if is_plural else mapped(near, partial(weekday_next_to, day, side))


class _Distance(NamedTuple):
    many: Count | None
    unit: str
    is_plural: bool


def _distance(cursor: Cursor) -> _Distance | None:
    many = count(cursor)
    is_plural = cursor.peek().text.endswith("s")
    found = unit(cursor)
    return None if found is None else _Distance(many, found, is_plural)


def _placed(near: Date, distance: _Distance, side: str, *, is_within: bool, is_all: bool) -> Date | None:
    many, of, is_plural = distance
    if many is None:
        # Days before a date could be any.
        is_some = is_plural and side in {"before", "after"}
        return NOTHING if is_some else mapped(near, partial(_next_or_around, of, side))
    length = timedelta(days=many.high * DAYS_OF[of])
    if is_within:
        return mapped(near, partial(_within, length, side))
    if side not in {"before", "after"}:
        return near
    if is_all:
        return mapped(near, partial(_all_of, length, side))
    return mapped(near, partial(apart, many.low, many.high, of, 1 if side == "after" else -1))


def _side(cursor: Cursor) -> str | None:
    if cursor.words("prior", "to") or cursor.word("before", "preceding"):
        return "before"
    if cursor.word("after", "following"):
        return "after"
    if cursor.word("starting", "beginning", "commencing"):
        return "starting"
    return cursor.word("of", "ending")


def _next_or_around(of: str, side: str, span: Span) -> Span:
    length = timedelta(days=DAYS_OF[of])
    if side == "starting":
        return Span(span.start, span.start + length)
    if side == "ending":
        return Span(span.end - length, span.end)
    return around_it(of, span) if side == "of" else next_to(of, side, span)


def _within(length: timedelta, side: str, span: Span) -> Span:
    start = span.start if side == "after" else span.start - length
    return Span(start, span.end if side == "before" else span.end + length)


def _all_of(length: timedelta, side: str, span: Span) -> Span:
    return Span(span.start - length, span.start) if side == "before" else Span(span.end, span.end + length)


def names_modal(cursor: Cursor) -> bool:
    """Whether “may” is next, and not called so because of the month."""
    token = cursor.peek()
    return is_also_verb(token) and cursor.peek(1).kind not in {"number", "nth", "comma", "stop", "dot"}


def fill(cursor: Cursor) -> None:
    """Pass over words that change nothing between another one and a date."""
    while cursor.peek().text in _FILLING and not cursor.is_done:
        cursor.at += 1
