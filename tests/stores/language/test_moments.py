from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.language.moments import LATEST, Span, instant, read_span, span_of

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def span(start: str, end: str) -> Span:
    first, last = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (start, end))
    return Span(first, last)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2023", "2023-01-01", "2024-01-01"),
        (" 2023-05 ", "2023-05-01", "2023-06-01"),
        ("2023-12", "2023-12-01", "2024-01-01"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("2023-W19", "2023-05-08", "2023-05-15"),
        ("2023w192", "2023-05-09", "2023-05-10"),
        ("2023-05-07", "2023-05-07", "2023-05-08"),
        ("20230507", "2023-05-07", "2023-05-08"),
        ("2023-127", "2023-05-07", "2023-05-08"),
        ("2023-05-07+02:00", "2023-05-06T22:00", "2023-05-07T22:00"),
        ("2023-05-07Z", "2023-05-07", "2023-05-08"),
        ("2023-05-07T10", "2023-05-07T10:00", "2023-05-07T11:00"),
        ("2023-05-07 10:00", "2023-05-07T10:00", "2023-05-07T10:01"),
        ("2023-05-07t10:00-05:00", "2023-05-07T15:00", "2023-05-07T15:01"),
        ("20230507T1000Z", "2023-05-07T10:00", "2023-05-07T10:01"),
        ("2023-05-07T10:00:00", "2023-05-07T10:00:00", "2023-05-07T10:00:00.000001"),
        ("2023-05-07T10:00:00.5Z", "2023-05-07T10:00:00.5", "2023-05-07T10:00:00.500001"),
        ("7d", "2026-03-03T12:00:00", "2026-03-03T12:00:00.000001"),
    ],
)
def test_a_text_means_all_that_it_names(text: str, start: str, end: str) -> None:
    assert read_span(text, now=NOW) == span(start, end)


def test_what_reaches_the_end_of_all_years_ends_there() -> None:
    assert all(read_span(text, now=NOW).end == LATEST for text in ("9999", "9999-12", "9999-12-31", "9999-12-31T23:59"))
    assert instant(LATEST).last == LATEST


@pytest.mark.parametrize(
    "text",
    ["", "May 2023", "07/05/2023", "2023-13", "2023-W54", "2023-W19-8", "2023-05-32", "2023-000", "202305", "10:00",
     "0001-01-01T00:00+01:00", "9999-12-31T24:00", "999999y", "2023-05-07+25:00", " " * 99 + "2023" + "0" * 200],
)  # fmt: skip
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no moment"):
        read_span(text, now=NOW)
    assert span_of(text, now=NOW) is None


def test_what_is_no_text_is_no_moment() -> None:
    assert [span_of(value, now=NOW) for value in (None, 2023, 1.5, ["2023"], {"year": 2023}, True)] == [None] * 6


@given(st.datetimes(timezones=st.timezones()), st.sampled_from(["days", "hours", "minutes", "seconds", "microseconds"]))
def test_a_moment_lies_in_the_span_of_its_own_text_at_any_precision(at: datetime, precision: str) -> None:
    said = at.date().isoformat() if precision == "days" else at.isoformat(timespec=precision)
    at = at.replace(tzinfo=UTC) if precision == "days" else at
    found = span_of(said, now=NOW)
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        return
    if found is not None:
        assert found.start <= at
        assert at - found.start < timedelta(days=1)
        assert at <= found.last or precision == "seconds"
