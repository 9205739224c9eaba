"""How well scores tell what is answered from what is not, and how sure that is: against definitions and other ways."""

import math
import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.comparison import compare
from evals.gate import judge
from evals.metrics import Scores, area, areas_compared, bootstrap
from evals.reports.figures import summaries
from evals.results import Case, Part
from evals.runs import Stored

TENTHS = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=12)


def scores(has: list[float], lacks: list[float], clusters: list[str] | None = None) -> Scores:
    values, answered = [*has, *lacks], [True] * len(has) + [False] * len(lacks)
    return Scores(values, clusters or [str(number) for number in range(len(values))], answered)


def by_pairs(has: list[float], lacks: list[float]) -> float:
    pairs = list(product(has, lacks))
    return sum((one > other) + (one == other) / 2 for one, other in pairs) / len(pairs)


def normal(count: int, mean: float, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(mean, 1) for _ in range(count)]


def by_delong(has: list[float], lacks: list[float]) -> float:
    """Work out the standard error by structural components (DeLong, DeLong and Clarke-Pearson, Biometrics 1988)."""
    of_has = [by_pairs([each], lacks) for each in has]
    of_lacks = [by_pairs(has, [each]) for each in lacks]
    return math.sqrt(np.var(of_has, ddof=1) / len(has) + np.var(of_lacks, ddof=1) / len(lacks))


@given(TENTHS, TENTHS)
def test_the_area_is_the_share_of_pairs_that_are_in_order(has: list[float], lacks: list[float]) -> None:
    found = area(scores(has, lacks))
    assert found.mean == pytest.approx(by_pairs(has, lacks))
    assert found.n == len(lacks)
    assert math.isnan(found.low) or 0 <= found.low <= found.high <= 1


@pytest.mark.parametrize(("answered", "unanswered"), [(200, 60), (15, 200), (40, 40)])
def test_the_interval_is_as_wide_as_both_kinds_of_questions_make_it(answered: int, unanswered: int) -> None:
    has, lacks = normal(answered, 1, 1), normal(unanswered, 0, 2)
    found = area(scores(has, lacks))
    assert found.high - found.low == pytest.approx(2 * 1.96 * by_delong(has, lacks), rel=0.12)


def test_few_answered_questions_are_not_taken_for_all_that_there_could_be() -> None:
    has, lacks = normal(12, 1, 3), normal(300, 0, 4)
    fixed = bootstrap([by_pairs(has, [each]) for each in lacks])
    found = area(scores(has, lacks))
    assert found.high - found.low > 2 * (fixed.high - fixed.low)


def test_questions_of_one_cluster_are_drawn_together() -> None:
    has, lacks = normal(40, 1, 5) * 4, normal(30, 0, 6) * 4
    together = [str(number % 40) for number in range(160)] + [f"x{number % 30}" for number in range(120)]
    apart, clustered = area(scores(has, lacks)), area(scores(has, lacks, together))
    assert clustered.mean == apart.mean
    # Four copies of each say no more than one.
    assert clustered.high - clustered.low == pytest.approx(2 * (apart.high - apart.low), rel=0.15)


def test_of_one_cluster_each_question_is_drawn_by_itself_and_a_single_one_has_no_interval() -> None:
    has, lacks = normal(20, 1, 7), normal(20, 0, 8)
    found = area(scores(has, lacks, [*map(str, range(20)), *["one"] * 20]))
    each = area(scores(has, lacks))
    assert (found.over_values, each.over_values) == (True, False)
    assert found.high - found.low == pytest.approx(each.high - each.low, rel=0.1)
    for few in (scores(has[:1], lacks), scores(has, lacks[:1])):
        assert math.isnan(area(few).low)


def test_one_changed_score_of_an_answered_question_is_no_difference() -> None:
    has, lacks = normal(60, 1, 9), normal(40, 0, 10)
    worse = [min(lacks) - 1, *has[1:]]
    (before, after), found = areas_compared(scores(has, lacks), scores(worse, lacks))
    assert [before, after] == pytest.approx([by_pairs(has, lacks), by_pairs(worse, lacks)])
    assert after < before
    # Swapping the runs of that one question is all that chance can do, which is as large each time.
    assert (found.p, found.is_lower) == (1, False)
    # Held against answers that are taken for fixed, no draw would be above zero, and most below.
    fixed = bootstrap([by_pairs(worse, [each]) - by_pairs(has, [each]) for each in lacks])
    assert fixed.high < 0


def test_a_clear_fall_of_either_kind_is_seen() -> None:
    has, lacks = normal(60, 1.5, 11), normal(40, 0, 12)
    for after in (scores([each - 1 for each in has], lacks), scores(has, [each + 1 for each in lacks])):
        (_, found) = areas_compared(scores(has, lacks), after)
        assert (found.is_lower, found.clusters) == (True, 40)
        assert found.p < 0.001
    _, same = areas_compared(scores(has, lacks), scores(has, lacks))
    assert (same.interval.mean, same.interval.low, same.interval.high, same.p) == (0, 0, 0, 1)


@pytest.mark.parametrize("clusters", [1, 2, 3, 5, 6, 40])
def test_a_clear_fall_is_seen_however_few_clusters_either_kind_has(clusters: int) -> None:
    many, few = [f"m{number % 40}" for number in range(200)], [f"f{number % clusters}" for number in range(70)]
    has, lacks = normal(200, 3, 11), normal(70, 0, 12)
    of = [*many, *few]
    (_, found) = areas_compared(scores(has, lacks, of), scores(has, [each + 3 for each in lacks], of))
    assert (found.is_lower, found.clusters) == (True, min(clusters, 40))
    (_, one) = areas_compared(scores(has, lacks, of), scores([min(lacks) - 1, *has[1:]], lacks, of))
    assert not one.is_lower
    # The same where it is those with an answer that have few.
    has, lacks = normal(70, 3, 13), normal(200, 0, 14)
    of = [*few, *many]
    (_, found) = areas_compared(scores(has, lacks, of), scores([each - 3 for each in has], lacks, of))
    assert (found.is_lower, found.clusters) == (True, min(clusters, 40))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=7))
def test_p_counts_the_swaps_that_part_the_runs_as_far(pairs: list[tuple[int, int]]) -> None:
    kinds = [number % 2 == 0 for number in range(len(pairs))]

    def between(swaps: tuple[int, ...]) -> float:
        sides = []
        for run in (0, 1):
            values = [float(pair[swap ^ run]) for pair, swap in zip(pairs, swaps, strict=True)]
            sides.append(by_pairs(values[0::2], values[1::2]))
        one, other = sides
        return other - one

    names = [str(number) for number in range(len(pairs))]
    before, after = (Scores([float(pair[run]) for pair in pairs], names, kinds) for run in (0, 1))
    _, found = areas_compared(before, after)
    observed = abs(between((0,) * len(pairs))) - 1e-12
    swaps = list(product((0, 1), repeat=len(pairs)))
    assert found.p == pytest.approx(sum(abs(between(each)) >= observed for each in swaps) / len(swaps))


def stored(name: str, has: list[float], lacks: list[float]) -> Stored:
    """A run of a set with questions of both kinds, as asking them leaves it."""
    cases = [
        Case("talks", "fast", "turn", f"q{number}", {"recall@10": 1.0}, score=score) for number, score in enumerate(has)
    ]
    cases += [
        Case("talks unanswered", "fast", "turn", f"u{number}", {"AUROC": by_pairs(has, [score])}, score=score)
        for number, score in enumerate(lacks)
    ]
    parts = [
        Part("talks", "fast", "turn", 9, "recall@10"),
        Part("talks unanswered", "fast", "turn", 9, "AUROC"),
    ]
    return Stored(name, None, cases, parts)


def test_reports_and_the_gate_know_both_kinds() -> None:
    has, lacks = normal(60, 1, 9), normal(40, 0, 10)
    before, one_changed = stored("before", has, lacks), stored("after", [min(lacks) - 1, *has[1:]], lacks)
    headline = summaries(before)[1].headline
    assert headline is not None
    clusters = [*(f"case u{number}" for number in range(40)), *(f"case q{number}" for number in range(60))]
    assert headline.interval == area(Scores([*lacks, *has], clusters, [False] * 40 + [True] * 60))
    line = next(line for line in compare(before, one_changed).lines if line.measure == "AUROC")
    assert line.before == pytest.approx(headline.interval.mean)
    assert line.before > line.after
    assert (line.n, line.difference.clusters, line.verdict) == (40, 40, "no difference seen")
    assert judge(before, one_changed).is_open
    fallen = judge(before, stored("after", [each - 1 for each in has], lacks))
    assert [each.partition(" fell")[0] for each in fallen.failures] == ["talks unanswered, fast: AUROC"]


def test_where_the_scores_of_the_answered_are_not_known_they_are_taken_as_they_were() -> None:
    whole = stored("before", normal(60, 1, 9), normal(40, 0, 10))
    half = replace(whole, cases=whole.cases[60:])
    headline = summaries(half)[0].headline
    assert headline is not None
    assert headline.interval == bootstrap([case.values["AUROC"] for case in half.cases])
    assert all(line.difference.interval.mean == 0 for line in compare(whole, half).lines)
