"""What the retrieval suite refuses: to go on with what is no longer the same, and folders that can hold no runs."""

from pathlib import Path

import pytest

from evals.runs import Archive
from evals.suites import NOTHING_TO_MEASURE, run_suite
from tests.evals.sets import own_lines, write_lines
from tests.evals.test_harness import interrupted, options


@pytest.fixture(autouse=True)
def _one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever edits a file while tests run does not change what an interrupted run was measured with."""
    monkeypatch.setattr("evals.runs.record.commit", lambda: "abc")


@pytest.mark.parametrize("changed", [{"floor": 0.9}, {"measure": "nDCG@10"}])
def test_an_interrupted_run_does_not_go_on_by_another_aim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object]
) -> None:
    interrupted(tmp_path, monkeypatch)
    wanted = options(tmp_path)
    first, *rest = own_lines()
    write_lines(tmp_path / "talks.jsonl", [{**first, **changed}, *rest])
    said: list[str] = []
    assert run_suite("retrieval", wanted, said.append) == NOTHING_TO_MEASURE
    assert "settings was" in said[-1]


def test_an_interrupted_run_does_not_go_on_with_another_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = interrupted(tmp_path, monkeypatch)
    assert "instructions" in record.machine
    monkeypatch.setattr("evals.machine.instructions", lambda: "abacus")
    said: list[str] = []
    assert run_suite("retrieval", options(tmp_path), said.append) == NOTHING_TO_MEASURE
    assert "is abacus" in said[-1]


def test_a_damaged_note_of_an_interrupted_run_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(tmp_path, monkeypatch)
    (note,) = tmp_path.glob("runs/*/notes/places-talks.json")
    note.write_text("[]")
    said: list[str] = []
    assert run_suite("retrieval", options(tmp_path), said.append) == NOTHING_TO_MEASURE
    assert "places-talks.json holds no object" in said[-1]
    assert "--afresh" in said[-1]


@pytest.mark.parametrize("name", ["r{a,b}*", "r[1]", "it's"])
def test_runs_may_be_kept_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    wanted = options(tmp_path, runs=tmp_path / name)
    said: list[str] = []
    assert run_suite("retrieval", wanted, said.append) == 0, said
    record = Archive(tmp_path / name).read("latest").record
    assert record is not None
    assert {point["run_id"] for point in Archive(tmp_path / name).points(record)} == {record.id}


def test_but_for_one_in_which_the_database_can_have_no_file(tmp_path: Path) -> None:
    said: list[str] = []
    assert run_suite("retrieval", options(tmp_path, runs=tmp_path / "which?"), said.append) == NOTHING_TO_MEASURE
    assert "Name another folder" in said[-1]
