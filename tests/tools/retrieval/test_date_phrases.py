"""Date phrases of a query, and the days that they name."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.language.moments import Span
from tools.retrieval.date_phrases import LONGEST_READ, MOST_SPANS, REPORTED_WITHIN, YEARS_BACK, date_phrases

# A Sunday.
ASKED = datetime(2026, 11, 22, 18, 0, tzinfo=UTC)


def spans(query: str) -> list[Span]:
    return [*date_phrases(query, ASKED).days]


def days(first: str, last: str) -> Span:
    start, end = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (first, last))
    return Span(start, end + timedelta(days=1))


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("What was bought on 1 February, 2024", "2024-02-01", "2024-02-01"),
        ("on the 29th of February 2024", "2024-02-29", "2024-02-29"),
        ("Who came on October 13th, 2023?", "2023-10-13", "2023-10-13"),
        ("on Monday, May 8, 2023", "2023-05-08", "2023-05-08"),
        ("at 5 pm on May 8, 2023", "2023-05-08", "2023-05-08"),
        ("Sept. 5,2023", "2023-09-05", "2023-09-05"),
        ("the outage of 2023-05-07", "2023-05-07", "2023-05-07"),
        ("the outage of 2023-05-07T10:00:00Z", "2023-05-07", "2023-05-07"),
        ("created:2023-05-07", "2023-05-07", "2023-05-07"),
        ("the outages of 2023-05", "2023-05-01", "2023-05-31"),
        ("What did Mel paint in July 2023?", "2023-07-01", "2023-07-31"),
        ("last May", "2026-05-01", "2026-05-31"),
        ("last December", "2025-12-01", "2025-12-31"),
        ("which packages did Mel look after in 2023", "2023-01-01", "2023-12-31"),
        ("in 2023 as James says", "2023-01-01", "2023-12-31"),
        ("what is planned for 2023-06, in 2027?", "2023-06-01", "2023-06-30"),
        ("June 3-5, 2023", "2023-06-03", "2023-06-05"),
        ("between 5 and 9 May 2023", "2023-05-05", "2023-05-09"),
        ("between May and June 2023", "2023-05-01", "2023-06-30"),
        ("May 2022 to June 2023", "2022-05-01", "2023-06-30"),
        ("between January 5, 2011, and January 16, 2012", "2011-01-05", "2012-01-16"),
        ("from 2023-05-01 to 2023-05-09", "2023-05-01", "2023-05-09"),
        ("2023-05-01/2023-05-09", "2023-05-01", "2023-05-09"),
        ("from 2021 to 2023", "2021-01-01", "2023-12-31"),
        ("what broke yesterday?", "2026-11-21", "2026-11-21"),
        ("and the day before yesterday", "2026-11-20", "2026-11-20"),
        ("what is due today", "2026-11-22", "2026-11-22"),
        ("what is due tomorrow", "2026-11-23", "2026-11-23"),
        ("what did we decide last week", "2026-11-09", "2026-11-15"),
        ("this week", "2026-11-16", "2026-11-22"),
        ("next week", "2026-11-23", "2026-11-29"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("next month", "2026-12-01", "2026-12-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("this weekend", "2026-11-21", "2026-11-22"),
        ("last weekend", "2026-11-14", "2026-11-15"),
        ("last Friday", "2026-11-20", "2026-11-20"),
        ("last Sunday", "2026-11-15", "2026-11-15"),
        ("this Friday", "2026-11-20", "2026-11-20"),
        ("next Sunday", "2026-11-29", "2026-11-29"),
        ("two days ago", "2026-11-20", "2026-11-20"),
        ("3 weeks ago", "2026-10-29", "2026-11-04"),
    ],
)
def test_a_phrase_names_its_days(query: str, first: str, last: str) -> None:
    assert spans(query)[:1] == [days(first, last)]


@pytest.mark.parametrize(("query", "start"), [("since May 2026", "2026-05-01"), ("since May", "2026-05-01")])
def test_since_reaches_until_the_query_is_asked(query: str, start: str) -> None:
    assert spans(query) == [Span(datetime.fromisoformat(start).replace(tzinfo=UTC), ASKED)]


@pytest.mark.parametrize("query", ["in the past two months", "over the last 2 months"])
def test_a_recent_period_ends_now(query: str) -> None:
    assert spans(query) == [Span(datetime(2026, 9, 23, tzinfo=UTC), ASKED)]


def test_without_a_year_a_date_is_that_of_each_year_that_has_begun() -> None:
    for query in ("camping in June", "in march", "3rd of June", "on May 5"):
        assert [span.start.year for span in spans(query)] == [*range(2027 - YEARS_BACK, 2027)], query
    assert [span.start.year for span in spans("in December")] == [*range(2027 - YEARS_BACK, 2026)]


@pytest.mark.parametrize(
    "query",
    [
        # Something else.
        "", "What may I do?", "march on", "How may 3 people share it?", "how many of the 3 may differ",
        "Oct-4", "in oct",
        "what does this may mean", "of this march", "it may last a few weeks", "date.today()", "two weeks from today",
        "port 2023", "version 2023.05", "in 2023.05", "3 ago", "last one", "May 10:30",
        "last year of college", "last Friday of each",
        # Days in no calendar, or ranges that run backwards.
        "31 June 2023", "2023-13-01", "February 29, 2023", "from June 2023 to May 2023", "June 5-3, 2023",
        "in 2023-2021",
        # Open sides.
        "before May 2023", "by 7 July 2023", "after 2023", "what came after the 7th of July 2023", "other than in 2023",
        "until in May 2023", "by the end of May 2023", "until last week", "up to 30 June 2006", "older than 2022",
        "on or before 5 May 2023", "between May 2023 and the launch", "two days before 7 July 2023", "due by today",
        "over two weeks ago",
        # Ambiguous, or a year that is not read.
        "05/06/2023", "10.5.2023", "1 January 0001", "Jan 1, 1", "in May 1066", "5 May of 1066", "May 5 '23",
        # Counts.
        "in 2000 ms", "in 2000 kg", "for 2000 \u20ac, in 2000 %", "in 2000 people", "in 1999 items", "in 2000-2050 ms",
        "from 2000 to 2050 requests", "in 2000 or 2001 files", "a table of 2000 rows",
        # Names.
        "CVE-2023-05-01", "v2023-05-01", "2023-05-01abc", "build_2023-05-01",
    ],
)  # fmt: skip
def test_what_is_not_understood_names_no_days(query: str) -> None:
    assert spans(query) == []


def test_a_phrase_beyond_the_first_characters_is_not_read() -> None:
    assert spans("x " * (LONGEST_READ // 2) + "on 5 May 2023") == []


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("who led payments in March 2022", "who led payments "),
        ("what broke between 5 and 9 May 2023 or on 2023-06-01?", "what broke  or ?"),
        ("what broke yesterday and why", "what broke  and why"),
        ("who led payments before May 2023", "who led payments before May 2023"),
        ("who led 2023 ms in March 2022", "who led 2023 ms "),
        ("in March 2022", ""),
    ],
)
def test_the_rest_of_a_query_is_kept_to_the_letter(query: str, rest: str) -> None:
    assert date_phrases(query, ASKED).rest == rest


WORDS = (
    "in on last this past two 31 february May 2023 1999 days weeks ago before after since the of a year weekend few "
    "and to - , from between 3rd 2023-05-07 Monday or within than next 9999"
)


@given(
    st.lists(st.sampled_from(WORDS.split()) | st.text(max_size=9), max_size=40), st.datetimes(timezones=st.just(UTC))
)
def test_spans_of_any_query_are_in_order(words: list[str], asked_at: datetime) -> None:
    found = date_phrases(" ".join(words), asked_at).days
    assert [*found] == sorted(set(found))
    assert len(found) <= MOST_SPANS
    assert all(span.start < span.end for span in found)


def test_records_of_the_week_after_the_days_match_as_well() -> None:
    found = date_phrases("on 5 May 2023", ASKED)
    assert [span.end - day.end for span, day in zip(found.spans, found.days, strict=True)] == [REPORTED_WITHIN]
