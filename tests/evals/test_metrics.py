"""Measures, intervals and differences against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.metrics import MEASURES, bootstrap, compared, measured, separation, unanswered_values, wins


def of(ranking: tuple[str, ...], grades: dict[str, int]) -> dict[str, float]:
    return measured({"q": ranking}, {"q": grades})["q"]


def test_the_order_of_the_ranking_counts_and_not_that_of_the_ids() -> None:
    assert of(("z", "a"), {"z": 1})["MRR@10"] == 1
    assert of(("a", "a", "b"), {"b": 1})["MRR@10"] == 0.5


def test_cases_are_measured_apart_from_each_other() -> None:
    found = measured({"one": ("a",), "two": ("b",)}, {"one": {"a": 1}, "two": {"a": 1}, "three": {"a": 1}})
    assert [found[case]["recall@10"] for case in ("one", "two", "three")] == [1, 0, 0]


@given(
    st.lists(st.sampled_from("abcdefghijklmnop"), unique=True, max_size=10),
    st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(1, 3), min_size=1),
)
def test_every_measure_lies_between_0_and_1_and_they_agree(ranking: list[str], grades: dict[str, int]) -> None:
    found = of(tuple(ranking), grades)
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


@given(st.lists(st.integers(0, 9), min_size=1), st.lists(st.integers(0, 9), min_size=1))
def test_the_mean_over_what_nothing_answers_is_the_area_under_the_curve(has: list[int], lacks: list[int]) -> None:
    area, before = 0.0, (0.0, 0.0)
    for threshold in range(9, -1, -1):
        at = tuple(sum(score >= threshold for score in side) / len(side) for side in (lacks, has))
        area += (at[0] - before[0]) * (at[1] + before[1]) / 2
        before = at
    mean = sum(unanswered_values(score, [float(each) for each in has])["AUROC"] for score in lacks) / len(lacks)
    assert mean == pytest.approx(area)


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


def test_one_cluster_alone_has_the_interval_over_its_values_and_says_so() -> None:
    values = [0.0, 1.0] * 10
    found = bootstrap(values, ["one"] * 20)
    assert (found.low, found.high, found.over_values) == (bootstrap(values).low, bootstrap(values).high, True)
    assert not bootstrap(values).over_values


def test_one_value_alone_has_no_interval_and_no_values_an_empty_one() -> None:
    found = bootstrap([0.5], ["one"])
    assert (found.mean, math.isnan(found.low), math.isnan(found.high)) == (0.5, True, True)
    assert bootstrap([]).n == 0


def test_a_clear_difference_is_seen_and_a_cluster_counts_once() -> None:
    before, after = [1.0] * 60, [0.0] * 20 + [1.0] * 40
    alone = compared(before, after, [str(n) for n in range(60)])
    assert alone.verdict == "worse"
    assert compared(after, before, [str(n) for n in range(60)]).verdict == "better"
    assert compared(before, before, [str(n) for n in range(60)]).verdict == "no difference seen"
    # The same answers in three conversations, one of which got worse: that may be chance.
    together = compared(before, after, ["a"] * 20 + ["b"] * 20 + ["c"] * 20)
    assert not together.is_lower
    assert together.verdict == "too few clusters to say"


def test_the_interval_of_an_area_is_over_both_kinds_of_questions() -> None:
    lacking, answered = [n / 50 for n in range(50)], [0.2, 0.4, 0.6, 0.8]
    pairs = wins(lacking, answered)
    names = [f"l{n}" for n in range(50)]
    both = separation(pairs, names, list("abcd"))
    assert both.mean == pytest.approx(sum(unanswered_values(each, answered)["AUROC"] for each in lacking) / 50)
    # Four answered questions are few: taken for fixed they would make the interval too narrow.
    fixed = bootstrap(pairs.mean(axis=1).tolist(), names)
    assert both.high - both.low > 1.3 * (fixed.high - fixed.low)
    assert math.isnan(separation(wins([0.1], answered), ["l"], list("abcd")).low)
    assert separation(pairs, ["one"] * 50, list("abcd")).over_values
