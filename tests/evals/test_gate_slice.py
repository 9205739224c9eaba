"""The small sets of this repository through a real server, held against what they reached before."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from evals.report import judge
from evals.runs import Options, read_run
from evals.suites import run_suite

SETS = Path(__file__).parents[2] / "evals" / "sets"
BASELINE = str(SETS / "baseline.jsonl")
FELL = ("workshop, fast: nDCG@10 fell", "assistant, fast: recall@10 fell")


@pytest.mark.slow
def test_retrieval_has_not_fallen_beyond_noise_and_simpler_ways_would_have(tmp_path: Path) -> None:
    said: list[str] = []
    sets = [str(SETS / f"{name}.jsonl") for name in ("workshop", "assistant")]
    options = Options(sets=sets, arms=["fast", "lexical", "naive"], runs=tmp_path)
    assert run_suite("retrieval", options, said.append) == 0, said
    gate = CliRunner().invoke(app, ["eval", "gate", BASELINE, "--runs", str(tmp_path)])
    assert gate.exit_code == 0, gate.output
    run, baseline = read_run("latest", tmp_path), read_run(BASELINE, tmp_path)
    # The baseline is of the very sets that were asked.
    assert baseline.data == run.data
    for arm in ("lexical", "naive"):
        worse = replace(run, cases=[replace(case, arm="fast") for case in run.cases if case.arm == arm])
        failures = judge(baseline, worse).failures
        assert all(any(each.startswith(fell) for each in failures) for fell in FELL), arm
