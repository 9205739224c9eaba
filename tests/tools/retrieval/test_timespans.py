"""Which days a question speaks of."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.language.moments import Span
from tools.retrieval.timespans import LONGEST_READ, MOST_SPANS, TOLD_WITHIN, YEARS_BACK, named_days, timespans

# A Sunday.
ASKED = datetime(2026, 11, 22, 18, 0, tzinfo=UTC)


def days(start: str, end: str) -> Span:
    """From a day to another one, which is of it."""
    first, last = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (start, end))
    return Span(first, last + timedelta(days=1) + TOLD_WITHIN)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did Mel paint in July 2023?", "2023-07-01", "2023-07-31"),
        ("What was bought on 1 February, 2024", "2024-02-01", "2024-02-01"),
        ("on the 29th of February 2024", "2024-02-29", "2024-02-29"),
        ("Who came on October 13th, 2023?", "2023-10-13", "2023-10-13"),
        ("the outage of 2023-05-07", "2023-05-07", "2023-05-07"),
        ("the outages of 2023-05", "2023-05-01", "2023-05-31"),
        ("the outage of 2023-05-07T10:00:00Z", "2023-05-07", "2023-05-07"),
        ("which releases were in 2023", "2023-01-01", "2023-12-31"),
        ("which packages did Mel look after in 2023", "2023-01-01", "2023-12-31"),
        ("what passed by on 7 May 2023", "2023-05-07", "2023-05-07"),
        ("the week of 9 June 2023", "2023-06-05", "2023-06-11"),
        ("the week before 9 June 2023", "2023-06-02", "2023-06-08"),
        ("last weekend before April 10, 2023", "2023-04-08", "2023-04-09"),
        ("the weekend after April 10, 2023", "2023-04-15", "2023-04-16"),
        ("what broke yesterday?", "2026-11-21", "2026-11-21"),
        ("and the day before yesterday", "2026-11-20", "2026-11-20"),
        ("what is due today", "2026-11-22", "2026-11-22"),
        ("what did we decide last week", "2026-11-09", "2026-11-15"),
        ("this week", "2026-11-16", "2026-11-22"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("this weekend", "2026-11-21", "2026-11-22"),
        ("last Friday", "2026-11-20", "2026-11-20"),
        ("last Sunday", "2026-11-15", "2026-11-15"),
    ],
)
def test_a_date_names_its_days(question: str, start: str, end: str) -> None:
    assert timespans(question, ASKED) == [days(start, end)]


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("two days before 7 July 2023", "2023-07-05"),
        ("a week after 7 July 2023", "2023-07-14"),
        ("three weeks ago", "2026-11-01"),
        ("a year ago", "2025-11-22"),
    ],
)
def test_a_distance_names_what_lies_about_there(question: str, day: str) -> None:
    (span,) = timespans(question, ASKED)
    exact = datetime.fromisoformat(day).replace(tzinfo=UTC)
    assert span.start <= exact < exact + timedelta(days=1) <= span.end


def test_of_the_past_months_and_since_reach_until_now() -> None:
    assert timespans("in the past two months", ASKED) == [Span(datetime(2026, 9, 23, tzinfo=UTC), ASKED)]
    assert timespans("since May 2026", ASKED) == [Span(datetime(2026, 5, 1, tzinfo=UTC), ASKED)]
    assert timespans("since May", ASKED) == [Span(datetime(2026, 5, 1, tzinfo=UTC), ASKED)]
    assert timespans("since December", ASKED) == [Span(datetime(2025, 12, 1, tzinfo=UTC), ASKED)]


def test_a_month_without_a_year_is_that_of_each_year_that_has_begun() -> None:
    assert [span.start.year for span in timespans("camping in June", ASKED)] == [*range(2027 - YEARS_BACK, 2027)]
    assert [span.start.year for span in timespans("in December", ASKED)] == [*range(2027 - YEARS_BACK, 2026)]


@pytest.mark.parametrize(
    "question",
    [
        "", "What may I do?", "march on", "the second of those", "31 June 2023", "before May 2023", "by 7 July 2023",
        "after 2023", "what came after the 7th of July 2023", "other than in 2023", "until in May 2023",
        "in 2027", "port 2023", "version 2023.05", "2023-13-01", "3 ago", "last one",
        "what was there before yesterday", "due by today",
    ],
)  # fmt: skip
def test_what_names_no_days_of_the_past_has_none(question: str) -> None:
    assert timespans(question, ASKED) == []


@pytest.mark.parametrize("before", [*range(1_980, LONGEST_READ - 1, 3), LONGEST_READ - 2])
@pytest.mark.parametrize("filler", ["x ", "y"])
def test_a_date_that_begins_within_what_is_read_is_read_to_its_end(before: int, filler: str) -> None:
    filled = (filler * before)[:before]
    assert timespans(f"{filled} on 5 May 2023 we met", ASKED) == [days("2023-05-05", "2023-05-05")]


def test_a_date_that_begins_behind_what_is_read_is_none() -> None:
    assert timespans("x " * 1_000 + "on 5 May 2023", ASKED) == []


WORDS = (
    "in on last this past two 31 february May 2023 1999 days weeks ago before after since the of a year weekend few "
    "and to - , from between early end first half 3rd Q2 1990s '21 2023-05-07 Monday or within more than hundred "
    "quarter 9999"
)


@given(
    st.lists(st.sampled_from(WORDS.split()) | st.text(max_size=9), max_size=40), st.datetimes(timezones=st.just(UTC))
)
def test_spans_of_any_question_are_in_order_and_begin_before_it(words: list[str], asked_at: datetime) -> None:
    found = timespans(" ".join(words), asked_at)
    assert found == sorted(set(found))
    assert len(found) <= MOST_SPANS
    assert all(span.start < span.end and span.start <= asked_at for span in found)


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("who led payments in March 2022", "who led payments "),
        ("who, in early May 2023, led payments?", "who, , led payments?"),
        ("what broke between 5 and 9 May 2023 or on 2023-06-01?", "what broke  or ?"),
        ("what broke yesterday and why", "what broke  and why"),
        ("who led payments before May 2023", "who led payments before May 2023"),
        ("who led 2023 ms in March 2022", "who led 2023 ms "),
        ("in March 2022", ""),
        ("who leads payments", "who leads payments"),
    ],
)
def test_what_a_question_says_beside_days_is_to_the_letter(question: str, rest: str) -> None:
    said = named_days(question, ASKED).rest
    assert said.split() == rest.split()
    assert set(said) <= set(question)


@pytest.mark.parametrize(
    ("question", "dates"),
    [
        ("who led payments on 3 March 2022", "March 2022"),
        ("what broke between 5 and 9 May 2023 or on 2023-06-01?", "May 2023 2023"),
        ("who led 2023 services last week", ""),
        ("may we meet in Sept 2022?", "Sept 2022"),
        ("who leads payments in 2024 rooms", ""),
    ],
)
def test_months_and_years_are_words_by_which_a_text_says_when_it_was(question: str, dates: str) -> None:
    assert named_days(question, ASKED).dates == dates


def test_the_days_themselves_are_told_apart_from_the_week_after() -> None:
    said = named_days("what broke on 5 May 2023 or 7 May 2023, or since June 2023", ASKED)
    assert len(said.days) == len(said.spans) == 3
    for told, days in zip(said.spans, said.days, strict=True):
        assert told.start == days.start
        assert told.end - days.end in (TOLD_WITHIN, timedelta(0))
    assert said.days[0].end - said.days[0].start == timedelta(days=1)
