"""A reason is a sentence, and says nothing that the search did not find."""

from typing import Any

import pytest

from tools.packs.options import reason
from tools.retrieval.pool import Candidate

NEAR = {"cosine": 0.7, "ranks": {"vector": 1}}
DATED = {"lexical": 0.0, "ranks": {"lexical": 51}, "cosine": 0.1}


@pytest.mark.parametrize(
    ("found", "section", "work", "said"),
    [({"ranks": {"lexical": 1}, "coverage": 0.99999998, "cosine": 0.6}, "decisions", {},
      "every word of the goal and is near"),
     ({"ranks": {"lexical": 1}, "coverage": 0.5, "cosine": 0.35}, "decisions", {},
      "most of the goal's words and is akin"),
     (NEAR, "decisions", {}, "It is near to the goal in meaning."),
     ({"ranks": {"lexical": 3}, "coverage": 0.1, "cosine": 0.1}, "decisions", {}, "It shares words with the goal."),
     ({"ranks": {"graph": 1}}, "decisions", {}, "It is linked to a record that matches the goal."),
     ({"cosine": 0.1}, "decisions", {}, "not near to the goal"),
     ({**DATED, "matches_dates": True}, "decisions", {}, "It is of the days that the goal names."),
     (NEAR, "prior_art", {"status": "done"}, "It was done before and is near to the goal in meaning."),
     (NEAR, "active_work", {"status": "blocked", "is_under_way": True}, "that is blocked, and it is near to the goal"),
     (None, "active_work", {"status": "doing", "is_under_way": True}, "The project is at work on it.")],
)  # fmt: skip
def test_a_reason_says_what_was_found(
    found: dict[str, Any] | None, section: Any, work: dict[str, Any], said: str
) -> None:
    assert said in reason(Candidate("a", **found) if found is not None else None, section, **work)


def test_no_shared_words_are_made_up() -> None:
    assert "shares words" not in reason(Candidate("a", **DATED), "decisions")
