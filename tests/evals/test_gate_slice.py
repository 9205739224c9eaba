"""The small set of this repository through a real server, held against what it reached before."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evals.commands import judge_run
from evals.gate import judge
from evals.options import Options
from evals.results import Case
from evals.runs import Run, read_run
from evals.suites import run_suite

SETS = Path(__file__).parents[2] / "evals" / "sets"
BASELINE = str(SETS / "workshop-baseline.jsonl")
SIMPLER = {"lexical": "workshop, fast: nDCG@10 fell", "naive": "workshop, fast: nDCG@10 fell"}


@pytest.mark.slow
def test_retrieval_has_not_fallen_beyond_noise_and_simpler_ways_would_have(tmp_path: Path) -> None:
    said: list[str] = []
    options = Options(sets=[str(SETS / "workshop.jsonl")], arms=["fast", *SIMPLER], runs=tmp_path)
    assert run_suite("retrieval", options, said.append) == 0, said
    assert judge_run(BASELINE, "latest", tmp_path, said.append) == 0, said[-3:]
    run, baseline = read_run("latest", tmp_path), read_run(BASELINE, tmp_path)
    # The baseline is of the very set that was asked.
    assert baseline.data == run.data
    for arm, failure in SIMPLER.items():
        worse = replace(run, cases=_as_fast(run, arm))
        assert any(each.startswith(failure) for each in judge(baseline, worse).failures), arm


def _as_fast(run: Run, arm: str) -> Sequence[Case]:
    return [replace(case, arm="fast") for case in run.cases if case.arm == arm]
