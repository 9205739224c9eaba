"""`engrain eval usage`: one half of the questions is cited, both are asked again, and the report says what changed."""

import json
from pathlib import Path

from evals.datasets import Question
from evals.evaluate import NOTHING_TO_MEASURE, Options
from evals.usage import run_usage_eval, split
from tests.evals.test_evaluate import write_set


def test_a_small_set_is_cited_asked_again_and_reported(tmp_path: Path) -> None:
    write_set(tmp_path / "data" / "scifact")
    said: list[str] = []
    report = tmp_path / "report.json"
    assert run_usage_eval(Options(tmp_path / "data", json_file=report), said.append) == 0
    collection = json.loads(report.read_text())["collections"][0]
    assert (collection["name"], collection["texts"], collection["cited"]) == ("scifact", 4, 1)
    halves = [(each["half"], each["citing_users"], each["questions"]) for each in collection["effects"]]
    assert halves == [("cited", 1, 1), ("held out", 1, 1), ("cited", 8, 1), ("held out", 8, 1)]
    assert all(each["without"]["nDCG@10"] == 1.0 for each in collection["effects"])
    assert all(each["differences"]["nDCG@10"]["mean"] == 0.0 for each in collection["effects"])
    cost = collection["cost"]
    assert cost["plain"]["n"] == cost["whole"]["n"] == cost["recording"]["n"] == cost["difference"]["n"] == 10
    assert "| scifact | 4 (1) | held out | 1 | 8 |" in said[-1]


def test_halves_are_drawn_and_share_no_question() -> None:
    questions = [Question(str(number), "", "", {}) for number in range(9)]
    halves = split(questions)
    assert [len(half) for half in halves.values()] == [4, 5]
    assert sorted((each for half in halves.values() for each in half), key=lambda each: each.id) == questions
    assert halves == split(questions)


def test_absent_data_is_a_sentence(tmp_path: Path) -> None:
    said: list[str] = []
    assert run_usage_eval(Options(tmp_path / "nowhere"), said.append) == NOTHING_TO_MEASURE
    assert len(said) == 1
