"""Findings as a whole: spans, folding, limits, titles, tags, and the fallback."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.reflecting.reflection.extract import extract
from tools.reflecting.reflection.finding import KINDS, SENSITIVITIES, TITLE_LIMIT, Finding

NOTES = """# Standup

- We decided to keep NATS.
- [ ] write the release notes
- Turns out the webhook handler retries on HTTP 409.

Later we decided to keep NATS.
"""
PIECES = [
    "We decided to stop. ", "TODO: fix it\n", "- [ ] do it\n", "- [x] did it\n", "## Decisions\n", "```\n",
    "> ", "| a | b |\n", "|---|---|\n",
    "10:31 ana: ", "what if we try?\n", "1. stop\n2. start\n", "`code. x` ", "https://a.b/c. ", "\r\n", "\n\n",
    "“", "\"", "(", "…", "İ", "e.g. ",
    "\ue000", "\u2028", "🙂", "ERROR x\n", "    ", "To fix it:\n", "password: hunter2! ",
]  # fmt: skip


def check(notes: str, findings: list[Finding]) -> None:
    end = 0
    for finding in findings:
        assert end <= finding.start < finding.end <= len(notes)
        assert notes[finding.start : finding.end] == finding.content
        assert 0 < len(finding.title) <= TITLE_LIMIT
        assert 0 < finding.confidence <= 1
        assert finding.tags[:2] == ("reflection", finding.kind)
        assert finding.kind in KINDS
        assert set(finding.sensitivity_flags) <= set(SENSITIVITIES)
        assert finding.reason.endswith(".")
        assert finding.count >= 1
        end = finding.end
    assert len({(finding.kind, finding.content.lower()) for finding in findings}) == len(findings)


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=40).map("".join))
def test_spans_hold_the_content_of_any_markup(notes: str) -> None:
    check(notes, extract(notes))


def test_a_lone_surrogate_does_no_harm() -> None:
    check("We decided \ud800 to stop.", extract("We decided \ud800 to stop."))


def test_what_is_said_twice_is_found_once_and_counted() -> None:
    found = extract(NOTES)
    assert [(finding.kind, finding.count) for finding in found] == [("decision", 2), ("task", 1), ("claim", 1)]
    assert found[0].start < found[1].start


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The timeout is limited to 30 s.", "The timeout is limited to 60 s."),
        ("We decided to keep the old gateway.", "We decided not to keep the old gateway."),
        ("We decided to keep Redis for sessions.", "We decided to keep Kafka for events."),
    ],
    ids=["other number", "opposite", "other thing"],
)
def test_what_differs_in_substance_is_not_folded(one: str, other: str) -> None:
    assert [finding.count for finding in extract(f"{one}\n\n{other}")] == [1, 1]


def test_a_limit_keeps_the_surest_in_the_order_of_the_text() -> None:
    notes = "We could cache it.\n\nDecision: use NATS.\n\nThe proxy drops idle connections.\n\n- [ ] write the docs"
    assert [finding.kind for finding in extract(notes, limit=2)] == ["decision", "task"]
    assert extract(notes, limit=0) == []
    assert extract(notes, limit=50) == extract(notes)


def test_the_same_notes_give_the_same_findings_in_every_process() -> None:
    program = f"from tools.reflecting.reflection.extract import extract; print(extract({NOTES!r}))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert seen == {f"{extract(NOTES)}\n"}


def test_notes_without_a_cue_are_kept_as_one_record_of_the_session() -> None:
    notes = (
        "Spent the morning with the billing service and drew its tables on the whiteboard. Looked at how invoices and "
        "credit notes hang together. Read the support tickets of last month with Clara and sorted them into piles."
    )
    (found,) = extract(notes)
    assert (found.kind, found.confidence, found.content) == ("session", 0.6, notes)


@pytest.mark.parametrize("notes", ["", " \n\n", "thanks", "lunch? - yes!", "# Notes\n\n## Decisions\n\n## Questions"])
def test_small_talk_and_empty_templates_give_nothing(notes: str) -> None:
    assert extract(notes) == []


def test_a_long_session_is_cut_at_the_end_of_a_sentence() -> None:
    (found,) = extract("Looked at the old ledger with Ahmed again. " * 200)
    assert found.kind == "session"
    assert 1_000 < len(found.content) <= 2_000
    assert found.content.endswith("again.")


def test_numbered_steps_are_one_procedure() -> None:
    notes = "How to reset it\n\n1. Stop the worker\n2. Delete the row\n3. Start it again\n\nThat is all."
    (found,) = extract(notes)
    assert (found.kind, found.content) == ("procedure", "1. Stop the worker\n2. Delete the row\n3. Start it again")
    (led,) = extract("To reset it:\n1. Stop the worker\n2. Start it again")
    assert led.content == "To reset it:\n1. Stop the worker\n2. Start it again"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("Decision: **local store** is `SQLite`.", "Local store is SQLite"),
        ("We decided to keep the backups.", "Keep the backups"),
        ("Turns out that the cache is cold.", "The cache is cold"),
        ("TODO: see [the plan](https://a.example/b) first", "See the plan first"),
    ],
)
def test_titles_say_the_thing_itself(content: str, title: str) -> None:
    assert extract(content)[0].title == title


def test_a_long_title_is_cut_at_a_clause() -> None:
    content = "We decided to keep one environment per process, " + "because it is much faster than the other one, " * 4
    assert extract(content)[0].title.startswith("Keep one environment per process, because it is")
    assert len(extract("TODO: " + "fix the thing " * 30)[0].title) <= TITLE_LIMIT


def test_a_list_of_tasks_stays_one() -> None:
    found = extract("## Tasks\n\n- To release: tag the commit; push the tag.\n")
    assert [each.kind for each in found] == ["task"]


def test_what_was_rejected_says_so_in_its_title() -> None:
    notes = """## Rejected
- use Kafka for the events

## Decisions
- use NATS for the events
- Rejected: deploy on Friday afternoons

| Decision | Rejected |
|---|---|
| keep the monorepo | split the repository |

# Notes
Not now: a mobile app for the drivers.
"""
    found = {finding.title for finding in extract(notes) if finding.kind == "decision"}
    assert found == {
        "Rejected: use Kafka for the events", "Use NATS for the events", "Rejected: deploy on Friday afternoons",
        "Keep the monorepo", "Rejected: split the repository", "Not now: a mobile app for the drivers",
    }  # fmt: skip


def test_a_decision_and_its_rejection_are_not_one() -> None:
    long = "run the nightly export of the billing ledger to the Frankfurt warehouse as parquet files with compression"
    assert [finding.count for finding in extract(f"Decision: {long}.\nRejected: {long}.")] == [1, 1]
    assert [finding.count for finding in extract(f"# Decisions\n- {long}\n\n# Rejected\n- {long}\n")] == [1, 1]
