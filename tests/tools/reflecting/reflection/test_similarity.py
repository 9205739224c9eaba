import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.reflecting.reflection.similarity import CERTAIN, Duplicate, contradicts, duplicates_of


def test_the_nearest_known_text_comes_first() -> None:
    known = [
        "Consumers of NATS are restarted every night.",
        "Turns out the webhook handler retries on HTTP 409, which it should not.",
        "The webhook handler retries on HTTP 409.",
    ]
    found = duplicates_of("the webhook handler retries on HTTP 409", known)
    assert [duplicate.index for duplicate in found] == [2, 1]
    assert found[0].similarity == 1.0


def test_a_sentence_inside_of_a_long_record_is_found() -> None:
    record = (
        "# Week 12\n\nThree pages in total. Hosts built before 2024 have no size limit for journald. Quiet otherwise."
    )
    assert duplicates_of("Journald has no size limit on hosts built before 2024.", [record])


def test_other_numbers_and_the_opposite_are_not_the_same() -> None:
    known = ["Access logs are kept for 30 days.", "Access logs are not kept for 14 days."]
    assert duplicates_of("Access logs are kept for 14 days.", known) == []


def test_either_spelling_says_the_same() -> None:
    (found,) = duplicates_of(
        "We standardised the colours of catalogues at the data centre.",
        ["Honour the licence.", "We standardized the colors of catalogs at the data center."],
    )
    assert (found.index, found.similarity) == (1, 1.0)


def test_a_label_is_no_part_of_what_is_said() -> None:
    for known in ("- Decided: keep the backups in one region.", "We keep the backups in one region"):
        (found,) = duplicates_of("**Decision:** keep the backups in one region.", [known])
        assert found.similarity == 1.0
    assert duplicates_of("Decision: keep the backups.", ["Decision: drop the mirrors."]) == []


@pytest.mark.parametrize("said", ["Idea: keep the backups in one region.", "- TODO: keep the backups in one region",
                                  "Open question: keep the backups in one region?",
                                  "Option B: keep the backups in one region"])  # fmt: skip
def test_a_decision_is_not_known_for_sure_where_the_same_is_something_else(said: str) -> None:
    decision = "Decision: keep the backups in one region."
    for new, old in ((decision, said), (said, decision)):
        assert all(found.similarity < CERTAIN for found in duplicates_of(new, [old]))
    (same,) = duplicates_of(said, [said])
    assert same.similarity == 1.0
    assert duplicates_of("Keep the backups in one region.", [decision], kind="idea")[0].similarity < CERTAIN
    (of_a_record,) = duplicates_of("Keep the backups in one region.", ["Keep the backups in one region."],
                                   kind="decision", kinds=["idea"])  # fmt: skip
    assert of_a_record.similarity < CERTAIN


@pytest.mark.parametrize("label", ["Rejected:", "**Rejected:**", "Not doing:", "Not now:", "Rejected -", "Vetoed:",
                                   "Rejected (for now):", "Decision (rejected):", "Out of scope:",
                                   "1. Dropped:"])  # fmt: skip
def test_what_was_rejected_is_not_what_was_decided(label: str) -> None:
    new = "Keep the backups of all customers in one region."
    old = f"{label} keep the backups of all customers in one region."
    assert duplicates_of(new, [old]) == duplicates_of(f"Decision: {new}", [old]) == duplicates_of(old, [new]) == []
    assert duplicates_of(old, [f"- {old}"])
    assert contradicts(f"Decision: {new}", old)
    assert contradicts(old, new)
    assert contradicts(old, f"Not doing: {new}") is None


@pytest.mark.parametrize(
    ("new", "old"),
    [("Plan for March: freeze all deploys for two weeks.", "Plan for June: freeze all deploys for two weeks."),
     ("Search decision: use Kafka with three brokers.", "Payments decision: use Kafka with three brokers."),
     ("TODO(anna): write the release notes for the API.", "TODO(ben): write the release notes for the API."),
     ("Fix (staging): restart the worker.", "Fix (production): restart the worker."),
     ("This week: all deploys are frozen.", "Next week: all deploys are frozen."),
     ("Turn the feature flag on.", "Turn the feature flag off."),
     ("Deploy before the review.", "Deploy after the review."), ("Deploy once per day.", "Deploy only per day.")],
)  # fmt: skip
def test_what_one_word_tells_apart_is_not_the_same_for_sure(new: str, old: str) -> None:
    assert all(found.similarity < CERTAIN for found in duplicates_of(new, [old]))


def test_nothing_is_like_nothing() -> None:
    assert duplicates_of("", ["", "something"]) == []
    assert duplicates_of("something", []) == []


@given(st.text(alphabet="abcdefgh xyz", min_size=3).filter(lambda text: any(len(word) > 3 for word in text.split())))
def test_every_text_with_words_is_like_itself(text: str) -> None:
    assert duplicates_of(text, [text]) == [Duplicate(0, 1.0)]
