"""Measures, intervals and differences against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.metrics import MEASURES, bootstrap, measured, unanswered_values


def test_the_order_of_the_ranking_counts_and_not_that_of_the_ids() -> None:
    assert measured(("z", "a"), {"z": 1})["MRR@10"] == 1
    assert measured(("a", "a", "b"), {"b": 1})["MRR@10"] == 0.5


@given(
    st.lists(st.sampled_from("abcdefghijklmnop"), unique=True, max_size=10),
    st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(1, 3), min_size=1),
)
def test_every_measure_lies_between_0_and_1_and_they_agree(ranking: list[str], grades: dict[str, int]) -> None:
    found = measured(tuple(ranking), grades)
    assert set(found) == set(MEASURES)
    assert all(0 <= value <= 1 + 1e-9 for value in found.values())
    shared = len(grades.keys() & set(ranking))
    assert found["recall@10"] == pytest.approx(shared / len(grades))
    assert found["any-hit@10"] == float(shared > 0)
    assert found["all-hit@10"] == float(shared == len(grades))


def test_what_nothing_answers_is_unanswered_values_by_its_best_score() -> None:
    answered = [0.9, 0.5, 0.5, 0.2]
    assert unanswered_values(0.1, answered) == {"AUROC": 1.0, "below@0.3": 1.0}
    assert unanswered_values(0.3, answered) == {"AUROC": 0.75, "below@0.3": 0.0}
    # Equal scores count half, as in the area under the curve.
    assert unanswered_values(0.5, answered) == {"AUROC": 0.5, "below@0.3": 0.0}
    assert unanswered_values(0.95, answered) == {"AUROC": 0.0, "below@0.3": 0.0}
    # With nothing to tell it from there is no curve.
    assert unanswered_values(0.1, []) == {"below@0.3": 1.0}


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [0.0, 1.0] * 50
    found = bootstrap(values)
    assert found == bootstrap(values)
    assert found.low < found.mean == 0.5 < found.high
    # The standard error is .05, so that the interval is about .4 to .6.
    assert found.low == pytest.approx(0.4, abs=0.02)
    assert found.high == pytest.approx(0.6, abs=0.02)


def test_values_that_hang_together_widen_the_interval() -> None:
    values = [0.0] * 50 + [1.0] * 50
    alone = bootstrap(values)
    together = bootstrap(values, ["first"] * 50 + ["second"] * 50)
    assert together.mean == alone.mean
    assert together.high - together.low > 3 * (alone.high - alone.low)


def test_one_value_alone_has_no_interval_and_no_values_an_empty_one() -> None:
    found = bootstrap([0.5], ["one"])
    assert (found.mean, math.isnan(found.low), math.isnan(found.high)) == (0.5, True, True)
    assert bootstrap([]).n == 0
