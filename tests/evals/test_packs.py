"""The labelled goals are sound, and their packs stay as good as they were."""

import json
from pathlib import Path

import pytest

from evals.options import Options
from evals.packs.world import FOLDER, SPLITS, read_goals
from evals.report import summaries
from evals.runs import read_run
from evals.suites import run_suite

LEAST_RECALL = {"dev": 0.96, "test": 0.91}
MOST_OFF_TOPIC = 8


@pytest.mark.parametrize(
    ("change", "word"),
    [({"must": ["nowhere"]}, "nowhere"), ({"must": ["h-src-adyra"]}, "cannot hold"),
     ({"must": ["h-hold-task"], "off_topic": ["h-hold-task"]}, "does not want")],
)  # fmt: skip
def test_a_damaged_goal_is_refused_by_name(tmp_path: Path, change: dict[str, list[str]], word: str) -> None:
    row = {"id": "g1", "split": "dev", "goal": "x", "intent": "decide", "layer": "recall", "project": None}
    row |= {"must": [], "must_not": [], "off_topic": [], **change}
    row["intent"] = "decide" if word == "cannot hold" else "build"
    (tmp_path / "records.jsonl").write_text((FOLDER / "records.jsonl").read_text())
    (tmp_path / "goals.jsonl").write_text(json.dumps(row))
    with pytest.raises(ValueError, match=f"g1.*{word}"):
        read_goals(tmp_path)


@pytest.mark.slow
def test_packs_stay_as_good_as_they_were(tmp_path: Path) -> None:
    said: list[str] = []
    assert run_suite("packs", Options(runs=tmp_path / "runs"), said.append) == 0, said
    run = read_run("latest", tmp_path / "runs")
    assert len({case.key for case in run.cases}) == len(run.cases) == 2 * len(read_goals())
    figures = {
        (summary.part.arm, figure.category, figure.measure): figure.interval
        for summary in summaries(run)
        for figure in summary.figures
    }
    for split in SPLITS:
        assert figures["fast", split, "nothing wrong"].mean == 1
        assert figures["fast", split, "recall"].mean >= LEAST_RECALL[split]
        off_topic = figures["fast", split, "nothing off topic"]
        assert off_topic.n * (1 - off_topic.mean) <= MOST_OFF_TOPIC + 1e-9
        assert figures["naive", split, "recall"].n == off_topic.n
