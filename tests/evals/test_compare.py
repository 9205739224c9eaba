"""Comparison, gate and strict runs, on cases whose right answer is known."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from evals.report import HEADLINE, compare, compared, judge, missed
from evals.runs import Case, Part, Run, baseline_lines, read_baseline
from stores.errors import EngrainError

N = 60
PART = Part("talks", "fast", "turn", 9, "recall@10", 0.5, 0.9, 30)


def case(number: int, value: float, *, arm: str = "fast", cluster: str = "", took_ms: float = 10.0) -> Case:
    return Case(
        "talks", arm, "turn", f"q{number}", {"recall@10": value, "MRR@10": value / 2}, cluster,
        "odd" if number % 2 else "even", question="?", wanted={"a": 1}, found=["b"], took_ms=took_ms,
    )  # fmt: skip


def run(name: str, values: list[float], **more: object) -> Run:
    cases = [case(number, value, **more) for number, value in enumerate(values)]  # type: ignore[arg-type]
    return Run(name, None, cases, [PART], {"talks": "ab"})


GOOD = run("good", [1.0] * N)
WORSE = run("worse", [0.0] * 20 + [1.0] * 40)


def test_a_run_does_not_differ_from_itself() -> None:
    lines = compare(GOOD, GOOD).lines
    assert {line.category for line in lines} == {HEADLINE, "odd", "even"}
    assert {line.difference.verdict for line in lines} == {"no difference seen"}
    assert judge(GOOD, GOOD).is_open


def test_a_clear_fall_closes_the_gate() -> None:
    (headline,) = [line for line in compare(GOOD, WORSE).lines if line.is_headline]
    assert (headline.measure, headline.difference.n, headline.difference.verdict) == ("recall@10", N, "worse")
    assert headline.difference.mean == pytest.approx(-1 / 3)
    verdict = judge(GOOD, WORSE)
    assert verdict.failures[0].startswith("talks, fast: recall@10 fell from 1.000 to 0.667 (-0.333 [")
    assert judge(WORSE, GOOD).is_open
    assert {line.difference.verdict for line in compare(WORSE, GOOD).lines if line.is_headline} == {"better"}
    assert "| -0.333 [" in compared(verdict)


def test_a_set_is_judged_by_the_measure_of_the_baseline() -> None:
    cases = [replace(each, values={**each.values, "any-hit@10": 1.0}) for each in WORSE.cases]
    lenient = replace(WORSE, cases=cases, parts=[replace(PART, measure="any-hit@10")])
    assert judge(GOOD, lenient).failures[0].startswith("talks, fast: recall@10 fell")


def test_a_fall_within_noise_leaves_the_gate_open() -> None:
    noisy, before = run("noisy", [0.0, 0.0, 1.0, 1.0] + [1.0] * 56), run("before", [1.0, 1.0, 0.0, 1.0] + [1.0] * 56)
    (headline,) = [line for line in compare(before, noisy).lines if line.is_headline]
    assert headline.difference.mean < 0
    assert judge(before, noisy).is_open


@pytest.mark.parametrize(("clusters", "verdict"), [(1, "too few"), (5, "too few"), (6, "worse")])
def test_with_few_clusters_there_is_no_verdict_and_the_gate_goes_by_the_interval(clusters: int, verdict: str) -> None:
    before = [case(n, 1.0, cluster=str(n % clusters)) for n in range(N)]
    after = [replace(one, values={"recall@10": 0.5}) for one in before]
    first, second = replace(GOOD, cases=before), replace(WORSE, cases=after)
    (headline,) = [line for line in compare(first, second).lines if line.is_headline]
    assert headline.difference.verdict.startswith(verdict)
    assert not judge(first, second).is_open


def test_missing_cases_close_the_gate_and_too_few_say_nothing(tmp_path: Path) -> None:
    fewer = replace(GOOD, cases=GOOD.cases[1:])
    assert "1 cases of the baseline were not measured: talks fast q0" in judge(GOOD, fewer).failures[0]
    files = [tmp_path / name for name in "ab"]
    for file in files:
        file.write_text(baseline_lines(replace(GOOD, cases=GOOD.cases[:1])))
    done = CliRunner().invoke(app, ["eval", "gate", *map(str, files)])
    assert done.exit_code == 2
    assert "Cannot be judged: talks, fast: both have 1 questions" in done.output
    apart = replace(GOOD, cases=[replace(one, apart=True) for one in GOOD.cases])
    assert judge(apart, apart).unjudged == ["No question of the baseline is in a headline."]


def test_arms_of_two_runs_are_compared_and_unknown_ones_refused() -> None:
    other = replace(WORSE, cases=[replace(each, arm="lexical") for each in WORSE.cases])
    line = compare(GOOD, other, ("fast", "lexical")).lines[0]
    assert (line.arm, line.is_headline) == ("fast / lexical", True)
    with pytest.raises(EngrainError, match="worse has no arm dense; it has lexical"):
        compare(GOOD, other, ("fast", "dense"))
    with pytest.raises(EngrainError, match="no case in common"):
        compare(GOOD, other)


def test_a_baseline_holds_cases_without_texts(tmp_path: Path) -> None:
    file = tmp_path / "baseline.jsonl"
    file.write_text(baseline_lines(GOOD))
    found = read_baseline(file)
    assert (found.data, found.parts[0].measure) == (GOOD.data, "recall@10")
    assert found.cases == [replace(each, question="") for each in GOOD.cases]
    assert judge(found, GOOD).is_open
    changed = replace(GOOD, data={"talks": "cd"})
    assert compare(found, changed).remarks == ["The data of talks are not the same."]
    file.write_text("{}\n")
    with pytest.raises(EngrainError, match="is no baseline"):
        read_baseline(file)


@pytest.mark.parametrize(
    ("part", "failures"),
    [
        ({"floor": 0.5, "p50_limit_ms": 10}, []),
        ({"floor": 0.505}, [f"talks, fast: recall@10 is 0.5000, below the floor of 0.505 (n = {N})."]),
        ({"p50_limit_ms": 9.99}, [f"talks, fast: p50 is 10.00 ms, above 9.99 ms (n = {N})."]),
    ],
)
def test_a_strict_run_names_what_it_misses(part: dict[str, float], failures: list[str]) -> None:
    half = run("half", [0.5] * N)
    assert missed(replace(half, parts=[replace(PART, **part)])) == failures  # type: ignore[arg-type]
    apart = replace(half, cases=[replace(each, apart=True) for each in half.cases])
    assert missed(apart) == ["talks, fast: all questions are apart, so that none is held against the floor."]
    with pytest.raises(EngrainError, match="no floor and no time limit"):
        missed(replace(half, parts=[replace(PART, floor=None, p50_limit_ms=None)]))
