"""English date phrases of a query as spans of UTC days. Unknown phrases name none."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from stores.language.moments import LATEST, Span

LONGEST_READ = 2_000
REPORTED_WITHIN = timedelta(days=7)
"""Events are reported late: later records still match."""
YEARS_BACK = 10
"""A date without a year is tried in each of these years."""
MOST_SPANS = 64

_DAY = timedelta(days=1)
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
           "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a couple of": 2, "a few": 3, "few": 3}  # fmt: skip
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_NEAR = {
    "the day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "this afternoon": 0, "this evening": 0, "tomorrow": 1,
}  # fmt: skip
_NO_PLURALS = "was|is|as|has|does|its|this|us|perhaps|always"
_MEASURES = "ms|s|kg|g|mg|m|km|cm|mm|kb|mb|gb|tb|hz|khz|mhz|ghz|px|people|percent|usd|eur|%|€|\\$"

_Read = Callable[[re.Match[str], datetime], Sequence[Span]]


class DatePhrases(NamedTuple):
    rest: str
    days: Sequence[Span] = ()

    @property
    def spans(self) -> list[Span]:
        return [Span(start, end + min(REPORTED_WITHIN, LATEST - end)) for start, end in self.days]


def date_phrases(query: str, asked_at: datetime) -> DatePhrases:
    """Find the days that a query names: "before May 2023" names none, "since" ends at `asked_at`."""
    found = sorted(_found(query[:LONGEST_READ], asked_at.astimezone(UTC)), key=lambda each: each.start)
    kept = [each for each in _joined(query, found) if each.spans and not _is_open(query, each)]
    spans = {span for each in kept for span in each.spans}
    return DatePhrases(_without(query, kept), sorted(spans)[:MOST_SPANS])


class _Phrase(NamedTuple):
    start: int
    end: int
    spans: Sequence[Span]


def _found(text: str, asked_at: datetime) -> Iterator[_Phrase]:
    for pattern, read in _FORMS:
        for match in pattern.finditer(text):
            spans: Sequence[Span] = ()
            with suppress(ValueError, OverflowError):
                spans = read(match, asked_at)
            if spans and match.group().lower().startswith("since"):
                spans = [Span(spans[-1].start, asked_at)] if spans[-1].start < asked_at else ()
            yield _Phrase(*match.span(), spans)
        # A part of one phrase is not another phrase.
        text = pattern.sub(lambda match: "\0" * len(match.group()), text)


def _joined(query: str, phrases: Sequence[_Phrase]) -> list[_Phrase]:
    joined: list[_Phrase] = []
    for each in phrases:
        if not joined or not _is_range(query, joined[-1], each):
            joined.append(each)
            continue
        first = joined.pop()
        # One of ten possible years, or a range that runs backwards, is not understood.
        is_clear = len(first.spans) == len(each.spans) == 1 and first.spans[0].start < each.spans[0].start
        spans = [Span(first.spans[0].start, each.spans[0].end)] if is_clear else ()
        joined.append(_Phrase(first.start, each.end, spans))
    return joined


def _is_range(query: str, first: _Phrase, second: _Phrase) -> bool:
    between = query[first.end : second.start].strip(" ,").lower()
    is_between = query[first.start : first.end].lower().startswith("between")
    return between in {"to", "through", "until", "till", "-", "\u2013", "/"} or (is_between and between == "and")


def _is_open(query: str, phrase: _Phrase) -> bool:
    said = query[phrase.start : phrase.end].lower()
    # "Looked after in 2016" is of 2016; "after 2016" is not.
    opening = _OPENING_PREPOSITION if _PREPOSITION.match(said) else _OPENING
    return opening.search(query[: phrase.start]) is not None or (said.startswith("between") and "and" not in said)


def _without(query: str, phrases: Sequence[_Phrase]) -> str:
    kept, last = list[str](), 0
    for each in phrases:
        kept.append(query[last : each.start])
        last = each.end
    return "".join([*kept, query[last:]])


def _iso(match: re.Match[str], _: datetime) -> Sequence[Span]:
    year, month, day = int(match["year"]), int(match["number"]), match["day"]
    return [_months(year, month, month)] if day is None else [_days(year, month, int(day), int(day))]


def _day_of_month(match: re.Match[str], asked_at: datetime) -> Sequence[Span]:
    is_introduced = match["preposition"].lower().startswith(("on", "since", "from", "between"))
    if _may_be_verb(match) and not is_introduced:
        return ()
    month, first = _month(match["month"]), int(match["day"])
    return _of_years(match["year"], asked_at, lambda year: _days(year, month, first, int(match["last"] or first)))


def _month_alone(match: re.Match[str], asked_at: datetime) -> Sequence[Span]:
    preposition, name = match["preposition"].lower(), match["month"]
    if match["year"] is None:
        is_introduced = preposition.startswith(("in", "during", "since", "from", "between", "last", "of"))
        is_short = name.lower() not in _MONTHS
        if not is_introduced or is_short or (_may_be_verb(match) and preposition.startswith(("last", "of"))):
            return ()
    last = _month(name)
    first = _month(match["first"]) if match["first"] else last
    spans = _of_years(match["year"], asked_at, lambda year: _months(year, first, last))
    return spans[-1:] if preposition.startswith("last") else spans


def _may_be_verb(match: re.Match[str]) -> bool:
    return match["year"] is None and match["month"] in {"may", "march", "mar"}


def _years(match: re.Match[str], _: datetime) -> Sequence[Span]:
    first, last = int(match["year"]), int(match["last"] or match["year"])
    return [Span(_months(first, 1, 12).start, _months(last, 1, 12).end)] if first <= last else ()


def _near(match: re.Match[str], asked_at: datetime) -> Sequence[Span]:
    return [_day(asked_at + _NEAR[" ".join(match.group().lower().split())] * _DAY)]


def _period(match: re.Match[str], asked_at: datetime) -> Sequence[Span]:
    step = {"this": 0, "next": 1}.get(match["which"].lower(), -1)
    today = _day(asked_at).start
    monday = today - today.weekday() * _DAY
    match match["unit"].lower():
        case "week":
            return [Span(monday + 7 * step * _DAY, monday + 7 * (step + 1) * _DAY)]
        case "weekend":
            # On a Sunday, the last weekend is the one before.
            return [Span(monday + (5 + 7 * step) * _DAY, monday + 7 * (step + 1) * _DAY)]
        case "month":
            place = today.year * 12 + today.month - 1 + step
            return [_months(place // 12, place % 12 + 1, place % 12 + 1)]
    return [_months(today.year + step, 1, 12)]


def _weekday(match: re.Match[str], asked_at: datetime) -> Sequence[Span]:
    today = _day(asked_at)
    number = _WEEKDAYS.index(match["weekday"].lower())
    ahead = (number - today.start.weekday()) % 7
    days = {"next": ahead or 7, "this": number - today.start.weekday()}.get(match["which"].lower(), ahead - 7)
    return [Span(today.start + days * _DAY, today.end + days * _DAY)]


def _ago(match: re.Match[str], asked_at: datetime) -> Sequence[Span]:
    unit = _UNIT_DAYS[match["unit"].lower()]
    that_day = _day(asked_at - _count(match) * unit * _DAY)
    # "Three weeks ago" is meant to half a week.
    slack = unit // 2 * _DAY
    return [Span(that_day.start - slack, that_day.end + slack)]


def _recent(match: re.Match[str], asked_at: datetime) -> Sequence[Span]:
    if match["count"] is None and match["unit"].lower() == "day":
        return ()
    length = _count(match) * _UNIT_DAYS[match["unit"].lower()] * _DAY
    return [Span(_day(asked_at - length).start, asked_at)]


def _count(match: re.Match[str]) -> int:
    said = " ".join((match["count"] or "a").lower().split())
    return _COUNTS.get(said) or int(said)


def _month(name: str) -> int:
    return next(number for number, whole in enumerate(_MONTHS, 1) if whole.startswith(name[:3].lower()))


def _of_years(said: str | None, asked_at: datetime, span_in: Callable[[int], Span]) -> Sequence[Span]:
    if said is not None:
        return [span_in(int(said))]
    spans = list[Span]()
    for year in range(asked_at.year - YEARS_BACK + 1, asked_at.year + 1):
        with suppress(ValueError):  # 29 February
            spans.append(span_in(year))
    return [span for span in spans if span.start <= asked_at]


def _day(moment: datetime) -> Span:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return Span(start, start + _DAY)


def _days(year: int, month: int, first: int, last: int) -> Span:
    if first > last:
        raise ValueError(first)
    return Span(datetime(year, month, first, tzinfo=UTC), datetime(year, month, last, tzinfo=UTC) + _DAY)


def _months(year: int, first: int, last: int) -> Span:
    return Span(_days(year, first, 1, 1).start, _days(year, last, 1, monthrange(year, last)[1]).end)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)


_PREPOSITION = _compiled(r"(?:in|on|at|of|for|from|since|during|between|throughout|over|within)\b")
_OPENING = _compiled(r"\b(?:before|after|until|till|by|to|than|over|except|past)(?: the)?\s*$")
_OPENING_PREPOSITION = _compiled(
    r"\b(?:before|until|till|than|except)\s*$|\b(?:before|after|until|till|by) the \w+\s*$"
)
_IN = r"(?P<preposition>(?:\b(?:in|on|of|from|since|during|between|throughout|last) (?:the (?:month of )?)?)?)"
_TO = r"(?:\s*[-\u2013]\s*| (?:to|and|or|through|until|till) (?:the )?)"
_NAMES = "|".join([*_MONTHS, "sept", *(name[:3] for name in _MONTHS)])
_MONTH = rf"(?P<month>{_NAMES})\b\.?"
_DAYS = rf"(?<![\w.:/-])(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:{_TO}(?P<last>\d{{1,2}})(?:st|nd|rd|th)?)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
# A following number may be an unknown year.
_OF_YEAR = rf"(?:(?:,\s*|\s+)(?:of )?{_YEAR}\b|(?!\w|\s*[,-]?\s*(?:of )?['\u2019]?\d|\s*[:%]))"
_NOT_COUNTING = rf"(?![-\w]|[.:]\d|\s*(?:{_MEASURES})(?!\w)| (?!(?:{_NO_PLURALS})\b)(?-i:[a-z]+s\b))"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, reverse=True))})"
_WEEKDAY = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})\b"
_UNIT = r"(?P<unit>day|week|month|year)"

_FORMS: Sequence[tuple[re.Pattern[str], _Read]] = [
    (_compiled(pattern), read)
    for pattern, read in (
        (
            rf"{_IN}(?<![\w.-]){_YEAR}-(?P<number>0[1-9]|1[0-2])"
            r"(?:-(?P<day>\d\d)(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?)?(?![\w-])",
            _iso,
        ),
        (rf"{_IN}{_DAYS} (?:of )?{_MONTH}{_OF_YEAR}", _day_of_month),
        (rf"{_IN}\b{_MONTH} (?:the )?{_DAYS}{_OF_YEAR}", _day_of_month),
        (rf"{_IN}\b(?:(?P<first>{_NAMES})\b\.?{_TO})?{_MONTH}{_OF_YEAR}", _month_alone),
        (
            r"\b(?:in|of|from|since|during|between|throughout) (?:the )?(?:year )?"
            rf"{_YEAR}(?>(?:(?:{_TO}|,\s*)(?P<last>(?:19|20)\d\d)\b)*){_NOT_COUNTING}",
            _years,
        ),
        (rf"(?<![\w.])(?<!from\x20)(?:{'|'.join(_NEAR)})(?![\w(])", _near),
        (rf"(?<![\w-]){_COUNT} {_UNIT}s? ago\b", _ago),
        (
            r"(?:\b(?:in|over|during|within|for|of) )?\b(?:the|in|over|during|within) (?:last|past) "
            rf"(?:{_COUNT} )?{_UNIT}(?(count)s?)\b(?! of\b)",
            _recent,
        ),
        (rf"(?:\b(?:on|since) )?\b(?P<which>last|past|this past|this|next) {_WEEKDAY}(?! of\b)", _weekday),
        (
            r"(?:\b(?:in|of|since|during|over|for) )?\b(?<!last\x20)(?P<which>last|past|previous|this|next) "
            r"(?P<unit>week|weekend|month|year)\b(?! of\b| before\b)",
            _period,
        ),
    )
]
"""Earlier forms win."""
