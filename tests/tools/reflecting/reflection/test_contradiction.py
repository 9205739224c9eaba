import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.reflecting.reflection.similarity import contradicts

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
    "list": (
        "The rate limit is 50 requests.", "# Limits\n- Retries are 3\n- the rate limit is 100 requests\n\nAs of May",
        "“50 requests” is another value than “100 requests” for “rate limit”.",
    ),
    "label": (
        "**Decision:** The rate limit is 50 requests.", "Note: the rate limit is 100 requests.",
        "“50 requests” is another value than “100 requests” for “rate limit”.",
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
    "labelled idea": ("Idea: we use NATS for events.", "We use Kafka for events."),
    "task": ("We use Kafka for events.", "TODO: we use NATS for events."),
    "rejected": ("Rejected: we use NATS for events.", "We use Kafka for events."),
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


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("We enable the query cache in production.", "We disable the query cache in production."),
        ("The query cache is disabled in production.", "We enable the query cache in production."),
        ("We turned the query cache off.", "We turned the query cache on."),
        ("The query cache is turned off.", "The query cache is enabled."),
        ("Nightly exports are off.", "Nightly exports are on."),
        ("Nightly exports are off for now.", "Nightly exports are enabled."),
        ("We lowered the retry limit of the importer.", "We raised the retry limit of the importer."),
        ("The nightly export excludes deleted rows.", "The nightly export includes deleted rows."),
    ],
)
def test_the_opposite_is_seen_in_any_form(new: str, old: str) -> None:
    assert "is the opposite of" in str(contradicts(new, old))
    assert contradicts(old, new)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The linter runs on Linux.", "The linter is disabled."),
        ("The export was disabled.", "The export is enabled."),
        ("We increased the pool size.", "We decreased the retry limit."),
        ("We increased the timeout to 30 seconds.", "We decreased the timeout to 10 seconds."),
        ("Deploys happen on Monday.", "Deploys are off."),
        ("We switched to Postgres on Monday.", "We switched off Postgres."),
        ("Exports are on hold.", "Exports are disabled."),
    ],
)
def test_forms_of_a_word_alone_oppose_nothing(new: str, old: str) -> None:
    assert contradicts(new, old) is None


@given(st.text(max_size=200))
def test_no_text_contradicts_itself(text: str) -> None:
    assert contradicts(text, text) is None
