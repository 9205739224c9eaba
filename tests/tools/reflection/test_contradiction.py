"""What cannot both hold, and what only differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.reflection import contradicts

SAYS = {
    "version": ("We moved to PostgreSQL 16.", "We use PostgreSQL 15.", "“PostgreSQL 16” takes the place of "
        "“PostgreSQL 15”."),
    "choice": ("We use NATS for events.", "We use Kafka for events.", "“NATS” instead of “Kafka” for “events”."),
    "opposite": (
        "Sign-up is disabled.", "Sign-up is enabled.",
        "“disabled” is the opposite of “enabled”, said of the same thing.",
    ),
    "value": (
        "The cookie expires after 12 hours.", "The cookie expires after 8 hours.",
        "“12 hours” is another value than “8 hours” for “cookie”.",
    ),
    "negation": (
        "The cache is not shared between tenants.", "The cache is shared between tenants.",
        "One says the opposite of the other: “The cache is not shared between tenants.” and “The cache is "
            "shared between tenants.”.",
    ),
}  # fmt: skip
SILENT = {
    "other subject": ("The staging database is disabled.", "The production database is enabled."),
    "other purpose": ("We use Redis for sessions.", "We use Postgres for billing."),
    "question": ("Should we use PostgreSQL 16?", "We use PostgreSQL 15."),
    "idea": ("We could move to PostgreSQL 16.", "We use PostgreSQL 15."),
    "condition": ("If the flag is off, exports are disabled.", "Exports are enabled."),
    "addition": ("We also use MySQL for reports.", "We use PostgreSQL for reports."),
    "doubt": ("Labels are probably not required.", "Labels are required."),
    "past measurements": ("Peak memory was 60 MB in March.", "Peak memory was 80 MB in February."),
    "other unit": ("The limit is 20 requests.", "The limit is 20 MB."),
    "same": ("We use PostgreSQL 16.", "We use PostgreSQL 16."),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("new", "old", "reason"), SAYS.values(), ids=SAYS)
def test_a_contradiction_is_said_in_a_sentence(new: str, old: str, reason: str) -> None:
    assert contradicts(new, old) == reason


@pytest.mark.parametrize(("new", "old"), SILENT.values(), ids=SILENT)
def test_what_only_differs_is_no_contradiction(new: str, old: str) -> None:
    assert contradicts(new, old) is None


def test_one_sentence_of_a_long_record_is_enough() -> None:
    old = "# Handbook\n\nWelcome. We use PostgreSQL 15. Lunch is at noon."
    assert contradicts("From today on we run PostgreSQL 16.", old) is not None


@given(st.text(max_size=200))
def test_no_text_contradicts_itself(text: str) -> None:
    assert contradicts(text, text) is None
