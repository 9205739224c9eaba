"""Metrics against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.metrics import METRICS, bootstrap, ndcg, recall, reciprocal_rank

RANKING = ["a", "b", "c", "d"]


def test_ndcg_is_1_for_the_best_order_and_discounts_by_the_logarithm_of_the_rank() -> None:
    assert ndcg(RANKING, {"a": 1}, k=10) == 1
    assert ndcg(RANKING, {"b": 1}, k=10) == pytest.approx(1 / math.log2(3))
    # Found at ranks 1 and 3 of two: (1 + 1/2) / (1 + 1/log2 3).
    assert ndcg(RANKING, {"a": 1, "c": 1}, k=10) == pytest.approx(1.5 / (1 + 1 / math.log2(3)))


def test_ndcg_weighs_grades() -> None:
    # Grades 1 then 3: (1 + 3/log2 3) against the best order (3 + 1/log2 3).
    found = ndcg(["a", "b"], {"a": 1, "b": 3}, k=10)
    assert found == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


def test_ndcg_looks_at_the_first_k_only_in_the_ranking_and_in_the_best_order() -> None:
    assert ndcg(RANKING, {"d": 1}, k=3) == 0
    assert ndcg(["a"], {"a": 1, "b": 1, "c": 1}, k=1) == 1


def test_recall_is_the_share_of_what_is_relevant() -> None:
    assert recall(RANKING, {"a": 1, "z": 1}, k=10) == 0.5
    assert recall(RANKING, {"a": 1, "d": 1}, k=2) == 0.5
    assert recall(RANKING, {"b": 2, "c": 0}, k=2) == 1


def test_reciprocal_rank_counts_the_first_relevant_one() -> None:
    assert reciprocal_rank(RANKING, {"c": 1, "d": 1}, k=10) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKING, {"d": 1}, k=3) == 0


@pytest.mark.parametrize("name", METRICS)
def test_nothing_relevant_or_nothing_found_is_0(name: str) -> None:
    assert METRICS[name](RANKING, {}) == 0
    assert METRICS[name]([], {"a": 1}) == 0


@given(
    st.lists(st.sampled_from("abcdefghijklmnop"), unique=True),
    st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(0, 3)),
    st.sampled_from(sorted(METRICS)),
)
def test_every_metric_lies_between_0_and_1(ranking: list[str], grades: dict[str, int], name: str) -> None:
    assert 0 <= METRICS[name](ranking, grades) <= 1 + 1e-12


def test_the_interval_of_equal_values_is_that_value() -> None:
    found = bootstrap([0.25] * 8)
    assert (found.mean, found.low, found.high, found.n) == (0.25, 0.25, 0.25, 8)


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


def test_no_values_have_an_empty_interval() -> None:
    assert bootstrap([]).n == 0
