"""The small set of this repository through a real server, held against what it reached before."""

from pathlib import Path

import pytest

from evals.commands import judge_run
from evals.options import Options
from evals.suites import run_suite

SETS = Path(__file__).parents[2] / "evals" / "sets"


@pytest.mark.slow
def test_retrieval_has_not_fallen_beyond_noise(tmp_path: Path) -> None:
    said: list[str] = []
    options = Options(sets=[str(SETS / "workshop.jsonl")], runs=tmp_path)
    assert run_suite("retrieval", options, said.append) == 0, said
    assert judge_run(str(SETS / "workshop-baseline.jsonl"), "latest", None, tmp_path, said.append) == 0, said[-3:]
