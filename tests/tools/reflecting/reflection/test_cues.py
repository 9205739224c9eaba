"""Which sentence is of which kind, and which is nothing."""

import pytest

from tools.reflecting.reflection.cues import ROWS, Row, compile_phrase
from tools.reflecting.reflection.extract import extract
from tools.reflecting.reflection.finding import KINDS, LABEL_CONFIDENCE

KEPT = {
    "decision": [
        "We decided to keep the nightly backups.", "We decided not to build the fallback.",
        "Decision: local store is SQLite.", "The team agreed that events are versioned.",
        "We're dropping the carousel.", "Let's go with UUIDv7 keys.", "We won't support the old gateway.",
        "From now on all migrations are reviewed.", "We settled on CSV with UTF-8.",
    ],
    "task": [
        "TODO: add a memory limit to the worker", "- [ ] write the release notes",
        "I need to write a regression test before Thursday.", "Peter, could you please send them our addresses?",
        "The keys must be rotated today.", "- Tobias: load test with 5k messages per second",
        "Someone has to look at the alerts.", "Don't forget to renew the certificate.", "TODO(ben): put it in cache",
    ],
    "plan": [
        "The plan is to move half of the jobs by autumn.", "We'll review the bill again at the end of May.",
        "Next step is to repeat this on the code set.", "Tomorrow we continue with the mapping.",
        "The roll-out happens in three waves.", "Goal for the week: all of the alerts are quiet",
    ],
    "idea": [
        "What if we run the browser tests only at night?", "We could raise the TTL to ten minutes.",
        "It might be worth caching the answers.", "I was wondering whether zipped files would work.",
        "Idea: show a small badge.",
    ],
    "claim": [
        "Root cause: the cache keeps the decoded image.", "Turns out the webhook handler retries on 409.",
        "We found that the sandbox is wiped on Sundays.", "It only happens when two jobs start at once.",
        "Safari doesn't focus buttons on click.",
        "The job takes about 38 minutes.",
    ],
    "procedure": [
        "Fixed it by storing the encoded bytes.", "Workaround: set WORKER_CONCURRENCY=1 and restart.",
        "You can turn it off with `flags set audit off`.", "To avoid that, pass dtype=str and convert afterwards.",
        "Never delete the row while the worker is running.",
    ],
    "artifact": [
        "Opened https://git.example.com/media/worker/pull/871", "Created `src/export/stream.py` with its tests.",
        "The draft is at https://docs.example.com/search-v2.", "Scripts: bench/cache/",
    ],
}  # fmt: skip

DROPPED = {
    "question": "Should we go with the TTL or the warm-up?",
    "question about a decision": "Did we decide to drop Kafka?",
    "no decision": "No decision yet on who pays the setup fee.",
    "not decided": "We have not decided anything yet.",
    "still open": "Whether big tenants get their own is still open.",
    "unknown": "I don't know why yet.",
    "refuted": "I thought the root cause was the clock, but it isn't.",
    "somebody else's words": '"We decided to drop your app because it logged us out," she said',
    "done": "- [x] write the release notes",
    "past work": "Reviewed four merge requests on Monday.",
    "label with nothing": "Decision: none",
    "small talk": "Thanks, looks good to me.",
    "cue in code": "The text `we decided to stop` on a screen.",
    "cue in an address": "https://example.com/we/decided/to/stop/it seen.",
    "cue in a path": "src/we_decided/to.py changed yesterday.",
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, rows in KEPT.items() for text in rows])
def test_a_cue_makes_a_finding_of_its_kind(kind: str, text: str) -> None:
    assert [finding.kind for finding in extract(text)] == [kind]


@pytest.mark.parametrize("text", DROPPED.values(), ids=DROPPED)
def test_what_only_looks_like_a_cue_is_nothing(text: str) -> None:
    found = [finding for finding in extract(text) if finding.kind != "artifact"]
    assert found == []


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("We decided to go with NATS.", 0.86),
        ("The crash is probably caused by the cache.", 0.78),
        ("Plan: alpha in May.", 0.84),
        ("We'll start the alpha in May.", 0.80),
        ("Idea: cache the answers.", 0.82),
        ("We could cache the answers.", 0.72),
    ],
    ids=["decision", "hedge", "plan", "cued plan", "idea", "cued idea"],
)
def test_confidence_is_that_of_the_kind_and_its_cue(text: str, confidence: float) -> None:
    assert [finding.confidence for finding in extract(text)] == [confidence]


@pytest.mark.parametrize("kind", sorted(LABEL_CONFIDENCE.keys() - {"session"}))
def test_a_label_gives_the_confidence_of_its_kind(kind: str) -> None:
    [found] = extract(f"{kind.capitalize()}: the cache of the workers is warmed at night.")
    assert (found.kind, found.confidence) == (kind, LABEL_CONFIDENCE[found.kind])


def test_the_reason_names_the_words_that_count() -> None:
    assert extract("We decided to stop.")[0].reason == "“We decided” states a choice that was made."
    assert extract("- [ ] stop it now")[0].reason == "An empty check box stands before it."


def test_a_heading_gives_its_kind_to_the_items_under_it() -> None:
    notes = (
        "## Decision log\n- NATS, not Kafka\n\n## Ideas\n- a badge in a corner\n\n## Open questions\n- the owner of it?"
        "\n\n## Action items\n- a limit for the worker\n\n## What we learned\n- the worker has no limit of its own"
    )
    assert [finding.kind for finding in extract(notes)] == ["decision", "idea", "task", "claim"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.kind}-{row.says}")
def test_every_phrase_of_the_table_compiles(row: Row) -> None:
    assert row.kind in KINDS
    for phrase in row.split():
        pattern, firsts = compile_phrase(phrase)
        assert firsts, phrase
        assert "{" not in phrase
        assert not pattern.search(""), phrase
