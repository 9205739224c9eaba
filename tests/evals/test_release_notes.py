"""`engrain eval release-notes`: what the notes call breaking is counted against labels."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from evals.release_notes.labelled_ranges import Statement, cases, write_notes
from evals.runs import Options, default_data, read_run
from evals.suites import run_suite
from stores.errors import EngrainError
from tests.cli.release_notes.repositories import begun


def label(breaking: bool, commit: str, number: str = "", stated: str = "**No such statement**") -> dict[str, object]:
    return {"commits": [commit], "pull_requests": [number] * bool(number), "breaking": breaking, "stated": stated}


def test_what_is_called_breaking_is_counted_against_the_labels() -> None:
    labels = [
        label(True, "1111111"), label(True, "2222222", "22"), label(False, "3333333"), label(True, "4444444"),
        label(True, "5555555", stated="**fixtures:** **Remove the `dirty` one.** More"),
    ]  # fmt: skip
    called = [
        Statement("a", ("1111111",), ()), Statement("b", ("9999999",), ("22",)), Statement("c", ("3333333",), ()),
        Statement("nobody judged it", ("8888888",), ()), Statement("**Remove the dirty one.** More (x)", (), ()),
    ]  # fmt: skip
    found = [(each.category, each.values["right"]) for each in cases("x", called, labels)]
    assert found == [
        ("breaking recall", 1), ("breaking recall", 1), ("breaking recall", 0), ("breaking recall", 1),
        ("breaking precision", 1), ("breaking precision", 1), ("breaking precision", 0), ("breaking precision", 1),
    ]  # fmt: skip


def test_a_suite_runs_over_an_archive_of_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAIN_LLM_PROVIDER", "openai")
    built = begun(tmp_path / "tool.git")
    built.commit("fix: close files (again)", {"b.py": "x"})
    built.commit("feat!: drop the cache (#3)", {"a.py": "x"})
    with pytest.raises(EngrainError, match="nowhere"):
        write_notes(built.folder, "nowhere", "main")
    said: list[str] = []
    assert run_suite("release-notes", Options(tmp_path, runs=tmp_path), said.append) == 2
    assert "Give --data PATH" in said[0]
    row = {"repository": "tool", "from": "v1", "to": "main", **label(True, str(built.repository.head.target)[:7], "3")}
    (tmp_path / "breaking-dev.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "repositories.tar.gz").write_bytes(b"damaged")
    assert run_suite("release-notes", Options(tmp_path, runs=tmp_path / "runs"), said.append) == 2
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(built.folder, "tool.git")
    (tmp_path / "repositories.tar.gz").write_bytes(packed.getvalue())
    assert run_suite("release-notes", Options(tmp_path, runs=tmp_path / "runs"), said.append) == 0
    assert [each.values["right"] for each in read_run("latest", tmp_path / "runs").cases] == [1, 1]


@pytest.mark.slow
@pytest.mark.skipif(default_data() is None, reason="the repositories are not beside this checkout")
def test_what_was_reached_is_kept(tmp_path: Path) -> None:
    assert run_suite("release-notes", Options(runs=tmp_path), print) == 0
    right: dict[str, list[float]] = {}
    for case in read_run("latest", tmp_path).cases:
        right.setdefault(case.category, []).append(case.values["right"])
    for what, least in {"breaking recall": 0.85, "breaking precision": 0.92}.items():
        assert sum(right[what]) / len(right[what]) >= least
