"""A place among the tokens of a question, and the readers of what dates are made of: counts, units, months, years."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from tools.retrieval.days.tokens import STOP, Kind, Token, is_year

Read = TypeVar("Read")

_MONTH_TABLE = "january february march april may june july august september october november december"
_WEEKDAY_TABLE = "monday tuesday wednesday thursday friday saturday sunday"
_ONES_TABLE = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS_TABLE = "twenty thirty forty fifty sixty seventy eighty ninety"
_FIRSTS_TABLE = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
MONTHS = {name: number for number, name in enumerate(_MONTH_TABLE.split(), start=1)}
SHORT_MONTHS = {name[:3]: number for name, number in MONTHS.items() if name != "may"} | {"sept": 9}
ALSO_VERBS = {"may", "march", "mar"}
"""Months that in lower case are mostly something else."""
WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAY_TABLE.split())}
ONES = {name: number for number, name in enumerate(_ONES_TABLE.split(), start=1)}
TENS = {name: number for number, name in enumerate(_TENS_TABLE.split(), start=2)}
FIRSTS = {name: number for number, name in enumerate(_FIRSTS_TABLE.split(), start=1)}
UNITS = {
    **{name: name for name in ("hour", "day", "weekend", "week", "fortnight", "month", "quarter", "year", "decade")},
    **dict.fromkeys(("night", "morning", "afternoon", "evening"), "day"),
}
_UNITS = UNITS | {f"{name}s": unit for name, unit in UNITS.items()}
_WEEKDAYS = WEEKDAYS | {f"{name}s": number for name, number in WEEKDAYS.items()}
INTRODUCING = frozenset({"on", "by", "since", "from", "between", "before", "after", "until", "till"})
"""Words after which a number beside “may” is a day of May."""


COUNTING = frozenset({*ONES, *TENS, "a", "an", "couple", "few", "several"})
"""Words with which a count may begin."""
TIMING = frozenset({*_UNITS, *_WEEKDAYS})
NAMING = frozenset({*MONTHS, *SHORT_MONTHS, *WEEKDAYS, *FIRSTS, *TENS, "year", "month"})
"""Words with which a date of the calendar may begin."""


class Count(NamedTuple):
    """About how many."""

    low: float
    high: float


_VAGUE = {"couple": Count(2, 3), "few": Count(2, 4), "several": Count(3, 7)}


_MARGIN = 8


class Cursor:
    """Walks over the tokens of a question that was asked at some time.

    It is done behind the first `begun` of them, if that is given: what begins there may look at the others.
    """

    def __init__(self, tokens: Sequence[Token], asked_at: datetime, begun: int | None = None) -> None:
        # Stops around them save a question of bounds at every look.
        self._tokens = [STOP] * _MARGIN + [*tokens] + [STOP] * _MARGIN
        self.at = _MARGIN
        self._end = _MARGIN + (len(tokens) if begun is None else begun)
        self.asked_at = asked_at
        self.today = asked_at.replace(hour=0, minute=0, second=0, microsecond=0)
        self.named: list[int] = []
        """Which tokens belong to phrases that were read and name something."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return self.at >= self._end

    @property
    def is_first(self) -> bool:
        """Whether nothing was passed yet."""
        return self.at == _MARGIN

    def peek(self, ahead: int = 0) -> Token:
        """The token so far ahead, a few at most; a stop beyond the ends."""
        return self._tokens[self.at + ahead]

    def opens_with(self, words: Collection[str], *kinds: Kind) -> bool:
        """Whether the next token, after “the”, is one of some words or kinds: most readers need not even begin."""
        token = self.peek()
        if token.text == "the":
            token = self.peek(1)
        return token.text in words if token.kind == "word" else token.kind in kinds

    def tried(self, read: Callable[["Cursor"], Read | None]) -> Read | None:
        """Read something, and take nothing where it is not there."""
        at = self.at
        found = read(self)
        if found is None:
            self.at = at
        return found

    def tried_phrase(self, read: Callable[["Cursor"], Sequence[Read] | None]) -> Sequence[Read] | None:
        """Read a phrase as `tried` does, and note what it is made of."""
        at = self.at
        found = self.tried(read)
        if found:
            self.named += range(at - _MARGIN, self.at - _MARGIN)
        return found

    def word(self, *words: str) -> str | None:
        """Take the next token if it is one of some words."""
        token = self.peek()
        if token.kind == "word" and token.text in words:
            self.at += 1
            return token.text
        return None

    def words(self, *phrase: str) -> bool:
        """Take the next tokens if they are these words."""
        for ahead, word in enumerate(phrase):
            if self.peek(ahead).text != word:
                return False
        self.at += len(phrase)
        return True

    def phrase_of(self, *phrases: tuple[str, ...]) -> bool:
        """Take the next tokens if they are one of some phrases."""
        text = self.peek().text
        return bool(text) and any(text == phrase[0] and self.words(*phrase) for phrase in phrases)

    def sign(self, kind: Kind) -> bool:
        """Take the next token if it is of a kind."""
        is_there = self.peek().kind == kind
        self.at += is_there
        return is_there


def unit(cursor: Cursor) -> str | None:
    """Read a unit of time, one or many; nights and the like are days."""
    return _mapped(cursor, _UNITS)


def weekday(cursor: Cursor) -> int | None:
    """Read a weekday, one or many: 0 is Monday."""
    token = cursor.peek()
    if token.kind != "word" or token.text not in _WEEKDAYS:
        return None
    cursor.at += 1
    return _WEEKDAYS[token.text]


def _mapped(cursor: Cursor, table: dict[str, str]) -> str | None:
    token = cursor.peek()
    if token.kind != "word" or token.text not in table:
        return None
    cursor.at += 1
    return table[token.text]


def count(cursor: Cursor) -> Count | None:
    """Read how many: in digits up to 999, in words up to a hundred, or vaguely."""
    token = cursor.peek()
    if token.kind == "number" and token.numbers[0] < 1_000:
        cursor.at += 1
        return Count(token.numbers[0], token.numbers[0])
    return cursor.tried(_vague) or cursor.tried(_in_words)


def _vague(cursor: Cursor) -> Count | None:
    cursor.word("a")
    found = cursor.word(*_VAGUE)
    if found == "couple":
        cursor.word("of")
    return None if found is None else _VAGUE[found]


def _in_words(cursor: Cursor) -> Count | None:
    if cursor.word("a", "an"):
        number = 1
    elif tens := cursor.word(*TENS):
        number = 10 * TENS[tens] + (cursor.tried(_ones_after_tens) or 0)
    elif ones := cursor.word(*ONES):
        number = ONES[ones]
    else:
        return None
    if cursor.word("dozen"):
        number *= 12
    elif cursor.word("hundred"):
        number *= 100
    return Count(number, number)


def _ones_after_tens(cursor: Cursor) -> int | None:
    cursor.sign("dash")
    ones = cursor.word(*ONES)
    return ONES[ones] if ones and ONES[ones] < 10 else None


def month(cursor: Cursor) -> int | None:
    """Read the name of a month, whole or shortened."""
    token = cursor.peek()
    if token.kind != "word":
        return None
    number = MONTHS.get(token.text) or SHORT_MONTHS.get(token.text)
    if number is not None:
        cursor.at += 1
        if token.text in SHORT_MONTHS:
            cursor.sign("dot")
    return number


def is_whole_month(token: Token) -> bool:
    """Whether a token alone is surely called a month: its whole name, or a short one with a capital."""
    return token.kind == "word" and (token.text in MONTHS or (token.is_capital and token.text in SHORT_MONTHS))


def is_also_verb(token: Token) -> bool:
    """Whether a token is rather a verb than a month."""
    return token.text in ALSO_VERBS and not token.is_capital


def day_number(cursor: Cursor) -> int | None:
    """Read a day of a month in digits."""
    token = cursor.peek()
    if token.kind not in {"number", "nth"} or not 1 <= token.numbers[0] <= 31:
        return None
    cursor.at += 1
    return token.numbers[0]


def nth_in_words(cursor: Cursor) -> int | None:
    """Read first to thirty-first."""
    number = ordinal(cursor)
    return number if number is not None and number <= 31 else None


def ordinal(cursor: Cursor) -> int | None:
    """Read first to ninety-ninth."""
    if tens := cursor.word(*TENS):
        cursor.sign("dash")
        ones = cursor.word(*list(FIRSTS)[:9])
        return 10 * TENS[tens] + FIRSTS[ones] if ones else None
    first = cursor.word(*FIRSTS, "thirtieth")
    return None if first is None else FIRSTS.get(first, 30)


def year(cursor: Cursor) -> int | None:
    """Read a year of four digits."""
    token = cursor.peek()
    if token.kind != "number" or not is_year(token.numbers[0]):
        return None
    cursor.at += 1
    return token.numbers[0]


def year_of(cursor: Cursor) -> int | None:
    """Read the year that follows a day or month: “2023”, “, 2023”, “of 2023”, “'23”, “last year”, “two years ago”."""
    return cursor.tried(_year_of)


def _year_of(cursor: Cursor) -> int | None:
    if cursor.peek().kind == "dash" and cursor.peek(1).kind == "number":
        cursor.sign("dash")
        return year(cursor)
    cursor.sign("comma")
    if cursor.peek().kind == "short_year":
        return _full_year(cursor)
    cursor.word("of", "in")
    cursor.words("the", "year")
    cursor.word("the")
    return year(cursor) or _relative_year(cursor)


def _full_year(cursor: Cursor) -> int:
    """Of two digits: the last such year that is not more than one ahead."""
    short = cursor.peek().numbers[0]
    cursor.sign("short_year")
    next_year = cursor.asked_at.year + 1
    return next_year - (next_year - short) % 100


def _relative_year(cursor: Cursor) -> int | None:
    this_year = cursor.asked_at.year
    if which := cursor.word("last", "previous", "this", "same", "next"):
        ahead = {"last": -1, "previous": -1, "next": 1}.get(which, 0)
        return this_year + ahead if cursor.word("year") else None
    many = count(cursor)
    if many is None or many.low != many.high or not cursor.word("year", "years") or not cursor.word("ago"):
        return None
    return this_year - int(many.low)
