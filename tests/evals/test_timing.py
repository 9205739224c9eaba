import math

import pytest

from evals.bench.figures import Figure, Target, table
from evals.timing import spread


def test_percentiles_are_by_nearest_rank() -> None:
    found = spread([float(number) for number in range(100, 0, -1)])
    assert (found.p50, found.p95, found.n) == (50, 95, 100)
    assert spread([7.0]).p95 == 7
    assert math.isnan(spread([]).p50)


@pytest.mark.parametrize(
    ("target", "value", "verdict"),
    [(Target(3, 2), 2.0, "goal"), (Target(3, 2), 3.0, "passes"), (Target(3, 2), 3.1, "MISSED"),
     (Target(85, 95, more_is_better=True), 96.0, "goal"), (Target(85, 95, more_is_better=True), 90.0, "passes"),
     (Target(85, 95, more_is_better=True), 80.0, "MISSED")],
)  # fmt: skip
def test_a_target_tells_goal_from_pass_from_miss(target: Target, value: float, verdict: str) -> None:
    assert target.verdict(value) == verdict


def test_a_figure_is_as_good_as_the_worse_of_median_and_95th_percentile() -> None:
    times = spread([10.0] * 90 + [100.0] * 10)
    assert Figure.of("search", times, target=Target(25, 15)).verdict == "goal"
    assert Figure.of("search", times, target=Target(25, 15), p95_target=Target(60, 35)).verdict == "MISSED"
    assert Figure.of("search", times).verdict == ""


def test_the_table_shows_what_a_figure_should_be() -> None:
    figure = Figure.of("search", spread([20.0]), target=Target(25, 15), p95_target=Target(60, 35))
    lines = table([figure]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "| 20 ms | 20 ms | ≤ 25 / 15, p95 ≤ 60 / 35 | passes" in lines[2]
