"""What counts as known already."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.reflection import CERTAIN, Duplicate, duplicates_of
from tools.reflection.similarity import SAME


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
    (found,) = duplicates_of("Decision: keep the backups in one region.", ["- TIL: keep the backups in one region."])
    assert found.similarity == 1.0
    assert duplicates_of("Decision: keep the backups.", ["Decision: drop the mirrors."]) == []


@pytest.mark.parametrize("said", ["Idea: keep the backups in one region.", "- TODO: keep the backups in one region",
                                  "Open question: keep the backups in one region?"])  # fmt: skip
def test_a_decision_is_not_known_for_sure_where_the_same_is_an_idea_or_a_task(said: str) -> None:
    (found,) = duplicates_of("Decision: keep the backups in one region.", [said])
    assert SAME <= found.similarity < CERTAIN
    (same,) = duplicates_of(said, [said])
    assert same.similarity == 1.0


@pytest.mark.parametrize("label", ["Rejected:", "**Rejected:**", "Not doing:"])
def test_what_was_rejected_is_not_what_was_decided(label: str) -> None:
    new, old = (
        "Keep the backups of all customers in one region.",
        f"{label} keep the backups of all customers in one region.",
    )
    assert duplicates_of(new, [old]) == duplicates_of(old, [new]) == []
    assert duplicates_of(old, [f"- {old}"])


def test_nothing_is_like_nothing() -> None:
    assert duplicates_of("", ["", "something"]) == []
    assert duplicates_of("something", []) == []


@given(st.text(alphabet="abcdefgh xyz", min_size=3).filter(lambda text: any(len(word) > 3 for word in text.split())))
def test_every_text_with_words_is_like_itself(text: str) -> None:
    assert duplicates_of(text, [text]) == [Duplicate(0, 1.0)]
