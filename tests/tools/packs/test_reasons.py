"""A reason is a sentence, and says nothing that the search did not find."""

import pytest

from tools.packs.reasons import reason
from tools.retrieval.ranking import Candidate


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Candidate("a", lexical_rank=1, coverage=1, cosine=0.6), "holds every word of the goal and is near to it"),
        (
            Candidate("a", lexical_rank=1, coverage=0.99999998, cosine=0.6),
            "holds every word of the goal and is near to it",
        ),
        (Candidate("a", lexical_rank=1, coverage=0.5, cosine=0.35), "holds most of the goal's words and is akin to it"),
        (Candidate("a", cosine=0.7, dense_rank=1), "is near to the goal"),
    ],
)
def test_a_reason_says_how_near_the_meaning_is(found: Candidate, said: str) -> None:
    assert reason(found, "decisions") == f"It {said} in meaning."


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Candidate("a", lexical_rank=3, coverage=0.1, cosine=0.1), "shares words with the goal"),
        (Candidate("a", graph_rank=1), "is linked to a record that matches the goal"),
        (Candidate("a", cosine=0.1), "is among the nearest records of its kind, though not near to the goal"),
    ],
)
def test_a_reason_says_what_was_found(found: Candidate, said: str) -> None:
    assert reason(found, "decisions") == f"It {said}."


def test_work_says_how_it_stands() -> None:
    near = Candidate("a", cosine=0.7, dense_rank=1)
    assert reason(near, "prior_art", status="done") == "It was done before and is near to the goal in meaning."
    assert reason(None, "active_work", status="doing", is_under_way=True) == "The project is at work on it."
    assert reason(near, "active_work", status="blocked", is_under_way=True) == (
        "It is work of the project that is blocked, and it is near to the goal in meaning."
    )


def test_a_record_of_the_named_days_shares_no_words_for_it() -> None:
    brought = Candidate("a", lexical=0.0, lexical_rank=51, cosine=0.1, matches_dates=True)
    assert reason(brought, "decisions") == "It is of the days that the goal names."
    assert "shares words" not in reason(Candidate("a", lexical=0.0, lexical_rank=51, cosine=0.1), "decisions")
