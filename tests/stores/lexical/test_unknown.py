"""Which share of a question are names with numbers that no record holds."""

import pytest

from stores.lexical import LexicalIndex
from tests.stores.lexical.test_index import EVERYONE, batch, filled, index, record

__all__ = ["index"]


@pytest.mark.parametrize(
    ("question", "share"),
    [("E40310", 1.0), ("#E40310", 1.0), ("v2.4.11", 1.0), ("v2.4.10", 0.0), ("eng-4031", 1.0), ("E-4031", 0.0),
     ("e 4031", 0.0), ("e4031", 0.0), ("sha256 and ENG_104", 1.0), ("mid-2023", 0.0), ("backup-2023", 0.0),
     ("May,2023", 0.0), ("Q1 2023", 0.0), ("40 % of 3.5 mg", 0.0), ("10:30 on 2022-11-10", 0.0), ("US$500", 0.0),
     ("the 3rd of May 1999", 0.0), ("1990s", 0.0), ("5mg", 0.0), ("top-10", 0.0), ("timeout=300", 0.0),
     ("荷物は毎朝900時に発送", 0.0), ("queue", 0.0), ("foo_bar", 0.0), ("?", 0.0), ("", 0.0)],
)  # fmt: skip
def test_names_with_numbers_are_unknown_and_amounts_days_and_times_are_not(
    index: LexicalIndex,
    question: str,
    share: float,
) -> None:
    filled(index, a="Letters are sent by the queue.", b="It answers E4031.", c="4 of 10 letters, v. 2.")
    assert index.search(question, filter=EVERYONE, limit=1).unknown == pytest.approx(share)


def test_the_share_is_that_of_the_question_and_ends_with_the_first_record_that_has_it(
    index: LexicalIndex,
) -> None:
    filled(index, a="Letters are sent by the queue.", b="It answers E4031.")
    asked = "which letters does E40310 send"
    assert 0.3 < index.search(asked, filter=EVERYONE, limit=1).unknown < 0.9
    index.apply(batch(2, record("c", "Its successor is E-40310.")))
    assert index.search(asked, filter=EVERYONE, limit=1).unknown == 0.0
