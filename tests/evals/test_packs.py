"""The labelled goals are sound, and their packs stay as good as they were."""

import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from evals.options import Options
from evals.packs.labels import FOLDER, SPLITS, read_goals, read_records
from evals.report import summaries
from evals.runs import read_run
from evals.suites import INTERRUPTED, run_suite
from tests.evals.sets import interrupt_at
from tools.packs.facets import FACETS, Intent, Layer, types_of

LEAST_RECALL = {"dev": 0.96, "test": 0.91}
MOST_OFF_TOPIC = 8


def test_the_set_is_sound() -> None:
    records, goals = read_records(), read_goals()
    assert len(records) >= 120
    assert len(goals) >= 40
    assert len({goal.id for goal in goals}) == len(goals)
    assert Counter(goal.split for goal in goals) == dict.fromkeys(SPLITS, len(goals) // 2)
    assert {goal.intent for goal in goals} == set(get_args(Intent))
    assert {goal.layer for goal in goals} == set(get_args(Layer))
    assert {record.type for record in records} >= types_of(FACETS) - {"project"}
    assert len({record.project for record in records} - {None}) == 3
    assert {record.status for record in records} >= {"archived", "done", "doing", "blocked", "review"}
    assert sum(record.scope == "private" for record in records) >= 3
    assert sum(link.startswith("supersedes:") for record in records for link in record.related) >= 3


def test_no_goal_repeats_the_title_of_what_it_asks_for() -> None:
    names = {record.key: set(record.name.lower().split()) for record in read_records()}
    for goal in read_goals():
        said = set(goal.goal.lower().split())
        for key in goal.must:
            assert len(names[key] & said) <= max(2, len(names[key]) // 2), (goal.id, key)


def test_every_goal_wants_something_and_something_not() -> None:
    assert all(goal.must and goal.must_not and goal.off_topic for goal in read_goals())


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
def test_interrupted_packs_stay_as_good_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = interrupt_at(monkeypatch, "/api/context/pack")
    said: list[str] = []
    assert run_suite("packs", Options(runs=tmp_path / "runs"), said.append) == INTERRUPTED
    assert run_suite("packs", Options(runs=tmp_path / "runs"), said.append) == 0, said
    assert "Resuming" in said[1]
    # Records are stored once: the projects, then one by one as of their days.
    assert sent.count("/api/entities/bulk") == 1 + len(read_records())
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
