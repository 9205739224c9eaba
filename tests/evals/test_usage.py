"""`engrain eval usage`: one half of the questions is cited, both are asked again, and the report says what changed."""

import json
from pathlib import Path

import pytest

from evals.datasets import Question
from evals.options import Options
from evals.runs import Archive
from evals.suites import NOTHING_TO_MEASURE, run_suite
from evals.usage import ARMS, BEFORE, split
from tests.evals.sets import write_scifact


@pytest.mark.slow
def test_a_small_set_is_cited_asked_again_and_reported(tmp_path: Path) -> None:
    write_scifact(tmp_path / "data" / "scifact")
    said: list[str] = []
    report = tmp_path / "report.json"
    options = Options(tmp_path / "data", ["scifact"], runs=tmp_path / "runs", json_file=report)
    assert run_suite("usage", options, said.append) == 0, said
    stored = Archive(tmp_path / "runs").read("latest")
    asked = sorted((case.arm, case.category) for case in stored.cases)
    assert asked == sorted((arm, half) for arm in (BEFORE, *ARMS) for half in ("cited", "held out"))
    assert all(case.values["nDCG@10"] == 1.0 for case in stored.cases)
    cost = json.loads(report.read_text())["suite"]["costs"]["scifact"]
    assert cost["plain"]["n"] == cost["whole"]["n"] == cost["recording"]["n"] == cost["difference"]["n"] == 10
    assert any("| scifact | held out | 1 | 8 cite | nDCG@10 | 1.000 |" in line for line in said)


def test_halves_are_drawn_and_share_no_question() -> None:
    questions = [Question(str(number), "", "", {}) for number in range(9)]
    halves = split(questions)
    assert [len(half) for half in halves.values()] == [4, 5]
    assert sorted((each for half in halves.values() for each in half), key=lambda each: each.id) == questions
    assert halves == split(questions)


def test_absent_data_is_a_sentence(tmp_path: Path) -> None:
    said: list[str] = []
    assert run_suite("usage", Options(tmp_path / "nowhere", runs=tmp_path), said.append) == NOTHING_TO_MEASURE
    assert len(said) == 1
