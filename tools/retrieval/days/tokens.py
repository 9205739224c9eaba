"""A question cut into what dates are made of: words, numbers, dates in digits, and what stands between them."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal, NamedTuple

Kind = Literal["word", "number", "nth", "date", "quarter", "decade", "short_year", "dash", "comma", "dot", "stop"]


class Token(NamedTuple):
    """A word or sign of a question; what no date can hold is a stop."""

    kind: Kind
    text: str = ""
    """Of a word: in lower case, without the ending of a possessive."""
    numbers: tuple[int, ...] = ()
    """Of a number itself, of a date its year, month and day."""
    is_capital: bool = False


STOP = Token("stop")
COMMA, DASH, DOT = Token("comma"), Token("dash"), Token("dot")

_CHUNK = re.compile(r"[^\s,;()?!\"“”«»\[\]{}<>…|]+|[^\s]")
_SIGN = re.compile(r"[;()?!\"“”«»\[\]{}<>…|]")
_QUARTER = re.compile(r"[Qq]([1-4])")
_DASHES = "-\u2013\u2014"
_JOINED = re.compile(rf"[{_DASHES}/]+")
_WORD = re.compile(r"([^\W\d_]+)(?:['\u2019]s?)?")
_NUMBER = re.compile(r"([0-9]{1,9})(st|nd|rd|th)?", re.IGNORECASE)
_DECADE = re.compile(r"((?:19|20)[1-9]0)['\u2019]?s")
_SHORT_YEAR = re.compile(r"['\u2019]([0-9]{2})")
_MONTH_IN_DIGITS = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])")
_SHORTENED_YEARS = re.compile(rf"((?:19|20)[0-9]{{2}})[{_DASHES}]{{1,2}}([0-9]{{2}})")
_DAY_IN_DIGITS = re.compile(
    r"(?<![0-9])(?<![0-9][-.])([0-9]{4})(-|/)(0[1-9]|1[0-2])\2(0[1-9]|[12][0-9]|3[01])(?![0-9-])"
)
_NAME_BEFORE = re.compile(r"[^\W\d_][-_]?\Z")
_NAME_AFTER = re.compile(r"_|(?![Tt][0-9])[^\W\d]")
_FILE_ENDING = re.compile(r"\.[^\W\d_][^\W_]{0,4}\Z")
_LONGEST_ENDING = 6
_LONGEST_CHUNK = 2_000
"""Characters without a space of which something is read: a question may be one word."""
_TIME_ELSEWHERE = re.compile(
    r"[Tt]([0-9]{2}):?([0-9]{2})(?::?[0-9]{2}(?:[.,][0-9]+)?)?([+\u2212-])([0-9]{2}):?([0-9]{2})?"
)
_MEASURING_SIGNS = frozenset("%\u2030\u20ac$\u00a3\u00a5\u00b0")
_DAY_LAST_YEAR = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_FROM_TO = {"/", "..", "...", "\u2013", "\u2014", "--"}
_NO_DAY = 10_000
_YEARS = range(1900, 2100)


def tokens(question: str) -> list[Token]:
    """Cut a question."""
    return opening(question, len(question), 0).tokens


class Opening(NamedTuple):
    """The beginning of a question, cut."""

    tokens: list[Token]
    begun: int
    """How many of them began within the characters that were asked for."""
    places: list[tuple[int, int]]
    """Of each token, where what it was cut from begins and ends in the question."""


def opening(question: str, characters: int, more: int) -> Opening:
    """Cut what begins within the first characters of a question, and so many chunks behind it."""
    found: list[Token] = []
    places: list[tuple[int, int]] = []
    begun = 0
    for chunk in _CHUNK.finditer(question):
        is_within = chunk.start() < characters
        more -= not is_within
        if more < 0:
            break
        found += _cut(chunk[0]) if chunk.end() - chunk.start() <= _LONGEST_CHUNK else [STOP]
        places += [chunk.span()] * (len(found) - len(places))
        begun = len(found) if is_within else begun
    return Opening(found, begun, places)


def is_year(number: int) -> bool:
    """Whether a number is taken for a year."""
    return number in _YEARS


def _cut(chunk: str) -> Iterator[Token]:
    if chunk == ",":
        yield COMMA
    elif _SIGN.fullmatch(chunk):
        yield STOP
    elif set(chunk) <= set(_DASHES):
        yield DASH
    elif short := _SHORT_YEAR.fullmatch(chunk.rstrip(".")):
        yield Token("short_year", numbers=(int(short[1]),))
    else:
        said = chunk.strip("'\u2019\u2018:*`").rstrip(".")
        yield from _in_digits(said) or _joined(said)
        if chunk.endswith((".", ":")):
            yield DOT if chunk.endswith(".") else STOP


def _in_digits(said: str) -> list[Token]:
    """The dates that are written in digits alone, joined where they are a range."""
    if (found := _SHORTENED_YEARS.fullmatch(said)) and int(found[1]) % 100 < int(found[2]) > 12:
        first, last = int(found[1]), int(found[1]) // 100 * 100 + int(found[2])
        return [Token("number", numbers=(first,)), DASH, Token("number", numbers=(last,))]
    if month := _MONTH_IN_DIGITS.fullmatch(said):
        return [_date(*month.groups())]
    if found := _DAY_LAST_YEAR.fullmatch(said):
        return _day_last_year(*map(int, found.groups()))
    dates: list[Token] = []
    last = 0
    for match in _DAY_IN_DIGITS.finditer(said):
        if _is_name(match):
            continue
        if dates:
            dates.append(DASH if said[last : match.start()] in _FROM_TO else STOP)
        dates.append(_in_utc(match) or _date(match[1], match[3], match[4]))
        last = match.end()
    return dates


def _is_name(match: re.Match[str]) -> bool:
    """Whether letters are joined to a date, as in “CVE-2023-05-01”; in the name of a file it is one all the same."""
    said = match.string
    if _FILE_ENDING.search(said, max(len(said) - _LONGEST_ENDING, 0)):
        return False
    before = _NAME_BEFORE.search(said, max(match.start() - 2, 0), match.start())
    return before is not None or _NAME_AFTER.match(said, match.end()) is not None


def _in_utc(match: re.Match[str]) -> Token | None:
    """The day in UTC where a time of another zone is joined to one."""
    time = _TIME_ELSEWHERE.match(match.string, match.end())
    if time is None:
        return None
    hour, minute, offset_h, offset_min = (int(time[place] or 0) for place in (1, 2, 4, 5))
    ahead = timedelta(hours=offset_h, minutes=offset_min) * (1 if time[3] == "+" else -1)
    try:
        local = datetime(int(match[1]), int(match[3]), int(match[4]), hour, minute)  # noqa: DTZ001 - made UTC below
        day = local - ahead
    except (ValueError, OverflowError):
        return None
    return Token("date", numbers=(day.year, day.month, day.day))


def _date(*digits: str) -> Token:
    return Token("date", numbers=tuple(map(int, digits)))


def _day_last_year(first: int, second: int, year: int) -> list[Token]:
    """Month and day stand in either order: where both could be the month, nothing is said."""
    month, day = (second, first) if first > 12 else (first, second)
    is_clear = first == second or max(first, second) > 12
    return [Token("date", numbers=(year, month, day))] if is_clear and month <= 12 and 0 < day <= 31 else [STOP]


def _joined(said: str) -> Iterator[Token]:
    """Words and numbers, alone or with dashes between them; the stroke between two words is an “and”."""
    parts = _JOINED.split(said)
    found = [_simple(part) for part in parts]
    # A year joined with a shorter number is something else: a season, a number of a file.
    if STOP in found or any(_is_odd(*pair) for pair in pairwise(found)):
        yield STOP
        return
    yield found[0]
    for sign, token in zip(_JOINED.findall(said), found[1:], strict=True):
        yield Token("word", "and") if "/" in sign else DASH
        yield token


def _simple(part: str) -> Token:
    if part == "&" or part in _MEASURING_SIGNS:
        return Token("word", "and" if part == "&" else part)
    if quarter := _QUARTER.fullmatch(part):
        return Token("quarter", numbers=(int(quarter[1]),))
    if word := _WORD.fullmatch(part):
        return Token("word", word[1].lower(), is_capital=part[0].isupper())
    if number := _NUMBER.fullmatch(part):
        # “0001” is no day of a month.
        is_filled = len(number[1]) > 2 and number[1].startswith("0")
        return Token("nth" if number[2] else "number", numbers=(int(number[1]) + is_filled * _NO_DAY,))
    if decade := _DECADE.fullmatch(part):
        return Token("decade", numbers=(int(decade[1]),))
    return STOP


def _is_odd(one: Token, other: Token) -> bool:
    numbers = [each.numbers[0] for each in (one, other) if each.kind == "number"]
    return len(numbers) == 2 and is_year(numbers[0]) and not is_year(numbers[1])
