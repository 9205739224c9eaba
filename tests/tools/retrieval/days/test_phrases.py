"""The forms in which people write dates: each names its days, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from stores.language.moments import Span
from tests.tools.retrieval.test_timespans import ASKED, days
from tools.retrieval.days.cursor import Cursor
from tools.retrieval.days.phrases import dates_of
from tools.retrieval.days.tokens import Token, tokens
from tools.retrieval.timespans import MOST_SPANS, YEARS_BACK, timespans


def started(day: str) -> Span:
    """From a day until the question is asked."""
    return Span(datetime.fromisoformat(day).replace(tzinfo=UTC), ASKED)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        # Days of the calendar.
        ("10 March of 2023", "2023-03-10", "2023-03-10"),
        ("the 3rd of June, 2023", "2023-06-03", "2023-06-03"),
        ("the third of June 2023", "2023-06-03", "2023-06-03"),
        ("the twenty-first of June 2023", "2023-06-21", "2023-06-21"),
        ("May 5 '23", "2023-05-05", "2023-05-05"),
        ("May 5th of last year", "2025-05-05", "2025-05-05"),
        ("10-Mar-2023", "2023-03-10", "2023-03-10"),
        ("Mar-10-2023", "2023-03-10", "2023-03-10"),
        ("Sept. 5, 2023", "2023-09-05", "2023-09-05"),
        ("on Monday, May 8, 2023", "2023-05-08", "2023-05-08"),
        ("last Monday, May 8, 2023", "2023-05-08", "2023-05-08"),
        ("at 5 pm on May 8, 2023", "2023-05-08", "2023-05-08"),
        ("the log of 5/13/2023", "2023-05-13", "2023-05-13"),
        ("on 2023/05/07", "2023-05-07", "2023-05-07"),
        ("backup-2023-05-07.log", "2023-05-07", "2023-05-07"),
        ("2023-05-07_backup.tar.gz", "2023-05-07", "2023-05-07"),
        ("created:2023-05-07", "2023-05-07", "2023-05-07"),
        ("2023-05-03T23:30:00-08:00", "2023-05-04", "2023-05-04"),
        ("2023-05-03T00:30+0200", "2023-05-02", "2023-05-02"),
        ("2023-05-03T23:30:00.5+02:00", "2023-05-03", "2023-05-03"),
        ("on June 3, 5, 2023", "2023-06-03", "2023-06-05"),
        ("on the 4th of July weekend, 2023", "2023-07-01", "2023-07-04"),
        # Ranges and lists of days.
        ("June 3-5, 2023", "2023-06-03", "2023-06-05"),
        ("June 3\u20135, 2023", "2023-06-03", "2023-06-05"),
        ("June 3rd through 5th, 2023", "2023-06-03", "2023-06-05"),
        ("June 3 and 5, 2023", "2023-06-03", "2023-06-05"),
        ("from 5 to 9 May 2023", "2023-05-05", "2023-05-09"),
        ("between 5 and 9 May 2023", "2023-05-05", "2023-05-09"),
        ("from May 5 to June 2, 2023", "2023-05-05", "2023-06-02"),
        ("from December 28 to January 3, 2023", "2022-12-28", "2023-01-03"),
        ("from 2023-05-01 to 2023-05-09", "2023-05-01", "2023-05-09"),
        ("2023-05-01/2023-05-09", "2023-05-01", "2023-05-09"),
        ("between January 5, 2011, and January 16, 2012", "2011-01-05", "2012-01-16"),
        # Months, quarters and years.
        ("between May and June 2023", "2023-05-01", "2023-06-30"),
        ("May\u2013June 2023", "2023-05-01", "2023-06-30"),
        ("between November and February 2023", "2022-11-01", "2023-02-28"),
        ("May 2022 to June 2023", "2022-05-01", "2023-06-30"),
        ("in May last year", "2025-05-01", "2025-05-31"),
        ("in May two years ago", "2024-05-01", "2024-05-31"),
        ("last year, in May", "2025-05-01", "2025-05-31"),
        ("in 2023, in May", "2023-05-01", "2023-05-31"),
        ("the month of May 2023", "2023-05-01", "2023-05-31"),
        ("last May", "2026-05-01", "2026-05-31"),
        ("last December", "2025-12-01", "2025-12-31"),
        ("from 2021 to 2023", "2021-01-01", "2023-12-31"),
        ("during 1996-98", "1996-01-01", "1998-12-31"),
        ("Q1 2023", "2023-01-01", "2023-03-31"),
        ("from Q1 to Q3 2023", "2023-01-01", "2023-09-30"),
        ("the third quarter of 2023", "2023-07-01", "2023-09-30"),
        ("in the 1990s", "1990-01-01", "1999-12-31"),
        # Parts.
        ("in early May 2023", "2023-05-01", "2023-05-11"),
        ("mid-2023", "2023-04-21", "2023-09-12"),
        ("at the end of last month", "2026-10-21", "2026-10-31"),
        ("the first week of May 2023", "2023-05-01", "2023-05-07"),
        ("the last day of May 2023", "2023-05-31", "2023-05-31"),
        ("the first two weeks of May 2023", "2023-05-01", "2023-05-14"),
        ("the second half of 2023", "2023-07-02", "2023-12-31"),
        ("the last Friday of May 2023", "2023-05-26", "2023-05-26"),
        ("the 10th day of May 2023", "2023-05-10", "2023-05-10"),
        ("the sixth month of 2023", "2023-06-01", "2023-06-30"),
        ("in 2023, as James says,", "2023-01-01", "2023-12-31"),
        ("in 2023 as James says", "2023-01-01", "2023-12-31"),
        ("in the year 2000", "2000-01-01", "2000-12-31"),
        ("beginning in May 2023", "2023-05-01", "2023-05-31"),
        ("from late May to early June 2023", "2023-05-21", "2023-06-10"),
        # Beside a date.
        ("the week of May 8, 2023", "2023-05-08", "2023-05-14"),
        ("the week starting May 10, 2023", "2023-05-10", "2023-05-16"),
        ("the week ending 12 May 2023", "2023-05-06", "2023-05-12"),
        ("the Friday before 9 June 2023", "2023-06-02", "2023-06-02"),
        ("the first Monday after 5 May 2023", "2023-05-08", "2023-05-08"),
        ("the two weeks before 5 May 2023", "2023-04-21", "2023-05-04"),
        ("within two weeks of 5 May 2023", "2023-04-21", "2023-05-19"),
        ("around 5 May 2023", "2023-05-02", "2023-05-08"),
        # Counted from today.
        ("two days before yesterday", "2026-11-19", "2026-11-19"),
        ("last last week", "2026-11-02", "2026-11-08"),
        ("the week before last", "2026-11-02", "2026-11-08"),
        ("the Friday before last", "2026-11-13", "2026-11-13"),
        ("two Fridays ago", "2026-11-13", "2026-11-13"),
        ("two weekends ago", "2026-11-07", "2026-11-08"),
        ("last week on Friday", "2026-11-13", "2026-11-13"),
        ("Monday of last week", "2026-11-09", "2026-11-09"),
        ("this past Friday", "2026-11-20", "2026-11-20"),
        ("twenty days ago", "2026-11-02", "2026-11-02"),
        ("twenty-one days ago", "2026-11-01", "2026-11-01"),
        ("two dozen days ago", "2026-10-29", "2026-10-29"),
        ("a hundred days ago", "2026-08-14", "2026-08-14"),
        ("a few days ago", "2026-11-18", "2026-11-20"),
        ("2-3 days ago", "2026-11-19", "2026-11-20"),
        ("a day or two ago", "2026-11-20", "2026-11-21"),
        ("a year ago today", "2025-11-22", "2025-11-22"),
        ("last quarter", "2026-07-01", "2026-09-30"),
        ("between last Monday and yesterday", "2026-11-16", "2026-11-21"),
    ],
)
def test_a_form_names_its_days(question: str, start: str, end: str) -> None:
    assert timespans(f"What happened {question}?", ASKED) == [days(start, end)]


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("since last Friday", "2026-11-20"),
        ("since the beginning of 2023", "2023-01-01"),
        ("from May 2023 on", "2023-05-01"),
        ("from May 2023 until now", "2023-05-01"),
        ("over the last two weeks", "2026-11-08"),
        ("in the past week", "2026-11-15"),
        ("in the last month", "2026-10-01"),
        ("less than a month ago", "2026-10-23"),
    ],
)
def test_what_reaches_until_now_ends_with_the_question(question: str, start: str) -> None:
    assert timespans(question, ASKED) == [started(start)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("in May and June 2023", [days("2023-05-01", "2023-05-31"), days("2023-06-01", "2023-06-30")]),
        ("in 2021, 2022 and 2023", [days(f"{year}-01-01", f"{year}-12-31") for year in (2021, 2022, 2023)]),
        (
            "on May 5, June 2 and July 7, 2023",
            [days(each, each) for each in ("2023-05-05", "2023-06-02", "2023-07-07")],
        ),
        ("late May or early June 2023", [days("2023-05-21", "2023-05-31"), days("2023-06-01", "2023-06-10")]),
        ("this week or last week", [days("2026-11-09", "2026-11-15"), days("2026-11-16", "2026-11-22")]),
    ],
)
def test_what_is_listed_has_the_year_behind_the_last(question: str, expected: list[Span]) -> None:
    assert timespans(question, ASKED) == expected


@pytest.mark.parametrize(
    "question",
    [
        "3rd of June", "the week of May 8", "in Sept.", "from April to June", "in Q1", "on 5 May 3 people left",
        "on 5 May 1500 people came", "on May 5, 10 people came", "on 5 May, 3 pm",
    ],
)  # fmt: skip
def test_without_a_year_a_form_is_of_each_of_the_last_years(question: str) -> None:
    assert [span.start.year for span in timespans(question, ASKED)] == [*range(2027 - YEARS_BACK, 2027)]


@pytest.mark.parametrize(
    "question",
    [
        # Words and numbers of something else.
        "How may 3 people share it?", "how many of the 3 may differ", "what does this may mean", "Oct-4", "in oct",
        "a table of 2000 rows", "of approximately 1900 files", "05/06/2023", "10.5.2023", "May 10:30", "date.today()",
        "the end of the week", "since 3 people left", "two days after we met", "it may last a few weeks", "q",
        # Of a thing that is no date.
        "the last week of testing", "last year of college", "between May 2023 and the launch", "last Friday of each",
        # Days that are in no calendar, or run backwards.
        "June 31", "February 29, 2023", "from June 2023 to May 2023", "June 5-3, 2023", "between 2023 and 2021",
        # Open sides, and what is not that day but any before or after it.
        "no later than May 2023", "by the end of May 2023", "until last week", "up to 30 June 2006", "older than 2022",
        "on or before 5 May 2023", "except in May 2023", "the weeks before 5 May 2023", "in the past years",
        "more than two weeks after 5 May 2023", "over two weeks ago", "two weeks from today",
        # Years that are not read, beside a day, a month or a quarter.
        "1 January 0001", "Jan 1, 1", "in January 1, 1", "January 0001", "in May 1066", "5 May of 1066", "in Q1 1066",
        "on 1 January 99", "1 January 500 BC", "1 January 12023", "June 3-5, 1066",
        # How many there are of something.
        "in 2000 ms", "in 2000 kg", "for 2000 \u20ac, in 2000 %", "in 2000 people", "in 1999 items", "in 2000-2050 ms",
        "from 2000 to 2050 requests", "in 2000 or 2001 files", "since 2000 items", "around 2000 people",
        # Names that hold digits.
        "CVE-2023-05-01", "v2023-05-01", "2023-05-01abc", "build_2023-05-01",
        # Weeks that are in no year, or that begin with no day that is agreed upon.
        "the 53rd week of 2023", "the tenth week of 2023", "the sixty-first week of 2023", "the 32nd day of May 2023",
        "last last last last week", "two days before last last last last week",
        # To come.
        "next week", "next Friday", "in two weeks", "tomorrow", "in May next year",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_no_date(question: str) -> None:
    assert timespans(question, ASKED) == []


REPEATED = (
    "5 May 2023|in May|1,|3 and|between May and|between 3 and|two days before|the week of|a week or|last|from May to|"
    "in 2023,|in the year 2023|in 2023 in the month of|last year in|the|early|the first week of|may|2023-05-07/|May 5,|"
    "within a week of|twenty-"
)


class CountingCursor(Cursor):
    """Counts how often a token is looked at."""

    looks = 0

    def peek(self, ahead: int = 0) -> Token:
        self.looks += 1
        return super().peek(ahead)


@pytest.mark.parametrize("said", REPEATED.split("|"))
def test_each_token_is_looked_at_so_many_times_however_many_there_are(said: str) -> None:
    def looks(times: int) -> int:
        cursor = CountingCursor(tokens(f"{said} " * times), ASKED)
        for date in dates_of(cursor):
            assert date is not None
        return cursor.looks

    assert looks(400) < 5 * looks(100)


@pytest.mark.parametrize("said", ["x2023-05-01", "2023-05-01_.a", "2023-05-01T10:00+01:00", "5-May-2023-"])
def test_of_what_goes_on_for_ever_without_a_space_nothing_is_read(said: str) -> None:
    assert timespans(said * 1_000 + " on 5 May 2023", ASKED) == []
    assert len(tokens(said * 1_000)) == 1


def test_of_hundreds_of_dates_the_first_are_returned() -> None:
    first = datetime(2020, 1, 1, tzinfo=UTC)
    named = [first + timedelta(days=20 * number) for number in range(150)]
    found = timespans(" ".join(f"{day:%Y-%m-%d}" for day in named), ASKED)
    assert [span.start for span in found] == named[:MOST_SPANS]
