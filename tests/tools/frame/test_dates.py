from datetime import UTC, datetime, timedelta

import pytest

from stores.errors import ValidationFailed
from tools.frame.dates import moment

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T12:00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(days=14)),
        (" 12h ", NOW - timedelta(hours=12)),
        ("2026-03-01t12:00:00z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01 12:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("20260301T1200+0200", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-074", datetime(2026, 3, 15, tzinfo=UTC)),
        ("2024366T06:30Z", datetime(2024, 12, 31, 6, 30, tzinfo=UTC)),
        ("2026-W10-2", datetime(2026, 3, 3, tzinfo=UTC)),
        ("2026-W10", datetime(2026, 3, 2, tzinfo=UTC)),
        ("2026-02-28T24:00", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-365T24:00:00.000+01:00", datetime(2026, 12, 31, 23, tzinfo=UTC)),
        ("20261231t24z", datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_is_read_as_utc(text: str, expected: datetime) -> None:
    assert moment(text, now=NOW, field="since") == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "7", "d", "999999y", "2026-13-01", "\u0661\u0662d", "0000", "2026-13", "2026-3", "202603"),
        *("2026-000", "2026-366", "2026-03-01T24:01", "2026-03-01T25:00", "9999-12-31T24:00", "2026-03T12:00", "-2026"),
    ],
)
def test_nonsense_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValidationFailed, match="ISO 8601") as refused:
        moment(text, now=NOW, field="since")
    assert refused.value.details["field"] == "body.since"
