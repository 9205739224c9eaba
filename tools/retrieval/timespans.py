"""Which days a question speaks of: "in May 2023", "last week", "two days before 7 July". English, and days in UTC."""

import calendar
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from stores.language.moments import Span
from tools.retrieval.days.cursor import Cursor
from tools.retrieval.days.phrases import TELLING, dates_of, is_telling
from tools.retrieval.days.spans import Date
from tools.retrieval.days.tokens import opening

LONGEST_READ = 2_000
"""Characters of a question in which phrases that name days are looked for."""
_LONGEST_PHRASE = 64
"""Words that a phrase may take behind these characters: its year may be the last of them."""
TOLD_WITHIN = timedelta(days=7)
"""What happened is often told of some days later: so long after a span still counts as of it."""
YEARS_BACK = 10
"""A day or month without a year is that of each of so many years."""
MOST_SPANS = 64
# Without one of these no phrase names days; most questions have none.
_HINT = re.compile(rf"\d|\b(?:{'|'.join(sorted(TELLING))})\b", re.IGNORECASE)

_MONTHS = (*calendar.month_name[1:], *calendar.month_abbr[1:], "Sept")
_DATE = re.compile(rf"\b(?:\d{{4}}|{'|'.join(_MONTHS)})\b", re.IGNORECASE)


class Named(NamedTuple):
    """What a question says of days, and what else it says."""

    rest: str
    """The question without the phrases that name days."""
    spans: Sequence[Span] = ()
    """In their order, each with the week after it in which things are told; those in the future are left out."""
    days: Sequence[Span] = ()
    """The same without that week."""
    dates: str = ""
    """The months and years in these phrases: words by which a text says when it was."""


def timespans(question: str, asked_at: datetime) -> list[Span]:
    """Return the spans that a question names, in their order."""
    return [*named_days(question, asked_at).spans]


def named_days(question: str, asked_at: datetime) -> Named:
    """Return the spans that a question names, and what it says beside them.

    A word that opens a side ("before May") names none; "since" reaches until the question is asked. Of very many the
    first named are returned.
    """
    asked_at = asked_at.astimezone(UTC)
    if _HINT.search(question, 0, 2 * LONGEST_READ) is None:
        return Named(question)
    said = opening(question, LONGEST_READ, _LONGEST_PHRASE)
    if not any(map(is_telling, said.tokens)):
        return Named(question)
    cursor = Cursor(said.tokens, asked_at, said.begun)
    found: dict[Span, Span] = {}
    for date in dates_of(cursor):
        found |= {told: days for told, days in _within_time(date, asked_at) if told.start <= asked_at}
        if len(found) >= MOST_SPANS:
            break
    spans = sorted([*found][:MOST_SPANS])
    places = [said.places[each] for each in cursor.named]
    dates = [date for start, end in places for date in _DATE.findall(question, start, end)]
    return Named(_without(question, places), spans, [found[span] for span in spans], " ".join(dates))


def _without(question: str, places: Sequence[tuple[int, int]]) -> str:
    kept, last = list[str](), 0
    for start, end in places:
        kept.append(question[last:start])
        last = end
    return "".join([*kept, question[last:]])


def _within_time(date: Date, asked_at: datetime) -> Iterator[tuple[Span, Span]]:
    """Pair each span, with the time in which it is told of, with itself.

    Stop where one would begin before the year 1, or end after the year 9999.
    """
    this_year = asked_at.year
    with suppress(OverflowError, ValueError):
        for year in range(this_year, this_year - YEARS_BACK, -1) if date.year is None else (date.year,):
            if (span := date.within(year)) is not None and span.start < span.end:
                yield (Span(span.start, span.end + TOLD_WITHIN) if date.is_told else span), span
