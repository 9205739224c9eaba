"""`engrain eval usage`: one half of the questions is cited, both are asked again, and the report says what changed."""

import json
from pathlib import Path

import pytest

from evals.datasets import Question
from evals.harness.asking import Asking
from evals.options import Options
from evals.runs import Archive, Journal
from evals.suites import INTERRUPTED, NOTHING_TO_MEASURE, run_suite
from evals.usage import ARMS, BEFORE, split
from tests.evals.sets import write_own, write_scifact


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
    assert all(part.loading_s and part.asking_s and part.resident_mb for part in stored.parts)
    cost = json.loads(report.read_text())["suite"]["costs"]["scifact"]
    assert cost["plain"]["n"] == cost["whole"]["n"] == cost["recording"]["n"] == cost["difference"]["n"] == 10
    assert any("| scifact | held out | 1 | 8 cite | nDCG@10 | 1.000 |" in line for line in said)


@pytest.mark.slow
def test_an_interrupted_run_keeps_whole_sets_and_begins_the_one_it_was_at_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.runs.record.commit", lambda: "abc")
    asked: list[tuple[str, str]] = []
    plain = Asking.ask_all

    def ask_all(self: Asking, journal: Journal) -> None:
        asked.append((self.collection.name, self.arm.name))
        plain(self, journal)
        if len(asked) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Asking, "ask_all", ask_all)
    write_scifact(tmp_path / "data" / "scifact")
    report = tmp_path / "report.json"
    words = {"ENGRAIN_EMBEDDING_PROVIDER": "none"}
    sets = ["scifact", str(write_own(tmp_path))]
    options = Options(tmp_path / "data", sets, runs=tmp_path / "runs", json_file=report, server=words)
    said: list[str] = []
    assert run_suite("usage", options, said.append) == INTERRUPTED
    assert run_suite("usage", options, said.append) == 0, said
    assert any("Going on" in line for line in said)
    arms = (BEFORE, *ARMS)
    first, begun = [("scifact", arm) for arm in arms], [("talks", arm) for arm in arms]
    assert asked == [*first, *begun[:2], *begun]
    costs = json.loads(report.read_text())["suite"]["costs"]
    assert [cost["difference"]["n"] for cost in costs.values()] == [10, 25]
    stored = Archive(tmp_path / "runs").read("latest")
    assert {(part.set, part.arm) for part in stored.parts} == {*first, *begun}
    assert len(stored.cases) == len(arms) * (2 + 5)


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
