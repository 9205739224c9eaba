"""`engrain eval release-notes`: logs are replayed to the letter, and labels are counted for what they say."""

import gzip
import json
from pathlib import Path

import pygit2
import pytest
from typer.testing import CliRunner

from cli.main import app
from evals.bench.history import BEGINNING, END, long_history
from evals.bench.release_notes import write_notes
from evals.options import Options, default_data
from evals.release_notes.labels import Label, Project, read_labels
from evals.release_notes.notes import Change, changes_in, notes_of
from evals.release_notes.replay import replay
from evals.release_notes.scoring import cases
from evals.runs import read_run
from evals.suites import run_suite
from stores.errors import EngrainError

LABELS = 3


def log(path: Path, *rows: tuple[str, str, str]) -> Path:
    with gzip.open(path, "wt") as file:
        for sha, subject, body in rows:
            row = {"repo": "a/b", "from": "1", "to": "2", "sha": sha, "date": "2026-01-02", "subject": subject}
            file.write(json.dumps({**row, "body": body, "files": [f"src/{subject}.py"]}) + "\n")
    return path


def test_every_label_names_a_commit_and_every_project_its_split() -> None:
    projects = read_labels()
    assert {project.split for project in projects} == {"dev", "held out"}
    assert sum(project.split == "dev" for project in projects) == LABELS
    for project in projects:
        assert len(project.of("feature")) == 10
        assert not {sha for label in project.of("breaking") for sha in label.commits} & {
            sha for label in project.of("debatable") for sha in label.commits
        }


def test_a_damaged_label_is_refused(tmp_path: Path) -> None:
    row = {"project": "a+b", "split": "dev", "label": "odd", "commits": ["01234567"], "word": "x"}
    (tmp_path / "labels.jsonl").write_text(json.dumps(row))
    with pytest.raises(ValueError, match="'x' is no label"):
        read_labels(tmp_path / "labels.jsonl")


def test_a_log_is_replayed_oldest_first_with_shas_of_its_own(tmp_path: Path) -> None:
    old, new = "a" * 40, "b" * 40
    rows = [(new, "Undo", f"This reverts commit {old}."), (old, "Do", "Größe"), (old, "Do", "Größe")]
    replayed = replay(log(tmp_path / "log.gz", *rows), tmp_path / "repository")
    repository = pygit2.Repository(str(replayed.folder))
    found = list(repository.walk(repository.references["refs/tags/end"].target))
    assert [commit.message.split("\n")[0] for commit in found] == ["Undo", "Do", "Begin"]
    assert [replayed.originals.get(str(commit.id)) for commit in found] == ["b" * 8, "a" * 8, None]
    assert f"This reverts commit {found[1].id}." in found[0].message
    assert found[0].tree["src/Undo.py"].read_raw() != b""


def test_what_is_found_is_counted_against_the_labels() -> None:
    labels = (
        Label("breaking", ("1" * 8, "2" * 8), "one of two"),
        Label("breaking", ("3" * 8,), "missed"),
        Label("debatable", ("4" * 8,), "either way"),
        Label("feature", ("5" * 8,), "early"),
        Label("feature", ("6" * 8,), "aside"),
    )
    changes = [
        Change(breaking=True, commits=("2",), text="x"),
        Change(breaking=True, commits=("4",), text="x"),
        Change(breaking=True, commits=("9",), text="wrong"),
        Change(breaking=False, commits=("5",), text="x"),
    ]
    originals = {str(number): str(number) * 8 for number in range(10)}
    found = list(cases(Project("a+b", "dev", labels), changes, originals))
    assert [(each.category, each.values["right"]) for each in found] == [
        ("breaking recall, dev", 1), ("breaking recall, dev", 0), ("breaking precision, dev", 1),
        ("breaking precision, dev", 0), ("feature recall, dev", 1), ("feature recall, dev", 0),
    ]  # fmt: skip


def test_what_the_command_tells_is_read_off_its_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAIN_LLM_PROVIDER", "openai")
    rows = [
        ("d" * 40, "docs: say (more)", ""),
        ("c" * 40, "fix: close files (again)", ""),
        ("b" * 40, "feat(core)!: drop the cache", "BREAKING CHANGE: call `load` (twice) instead."),
        ("a" * 40, "feat: add a door", "It opens.\n\n- to the left\n- to the right"),
    ]
    replayed = replay(log(tmp_path / "log.gz", *rows), tmp_path / "repository")
    found = list(changes_in(notes_of(replayed.folder, "beginning", "end"), replayed.originals))
    assert [(each.breaking, [replayed.originals[sha] for sha in each.commits]) for each in found] == [
        (False, ["a" * 8]), (False, ["c" * 8]), (True, ["b" * 8]),
    ]  # fmt: skip
    assert [each.text for each in found[:2]] == ["Add a door", "Close files (again)"]
    with pytest.raises(EngrainError, match="nowhere"):
        notes_of(replayed.folder, "nowhere", "end")


def test_without_logs_it_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    assert run_suite("release-notes", Options(tmp_path, runs=tmp_path), said.append) == 2
    assert "Give --data PATH" in said[0]


def test_a_log_that_is_damaged_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    for content in (b"not gzip", gzip.compress(b"{}\n")[:-4], gzip.compress(b"{}\n"), gzip.compress(b"")):
        for project in read_labels():
            (tmp_path / f"gitlog_{project.name}.jsonl.gz").write_bytes(content)
        wanted = Options(tmp_path, runs=tmp_path / "runs")
        assert run_suite("release-notes", wanted, said.append) == 2
        assert "cannot be read as a log" in said[-1]


@pytest.mark.slow
@pytest.mark.skipif(default_data() is None, reason="the logs are not beside this checkout")
def test_what_was_reached_is_kept(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["eval", "release-notes", "--runs", str(tmp_path)])
    assert done.exit_code == 0, done.output
    right: dict[str, list[float]] = {}
    for case in read_run("latest", tmp_path).cases:
        right.setdefault(case.category.partition(",")[0], []).append(case.values["right"])
    for what, least in {"breaking recall": 0.5, "breaking precision": 0.9, "feature recall": 0.8}.items():
        assert sum(right[what]) / len(right[what]) >= least


def test_a_long_history_is_the_same_each_time_and_has_what_histories_have(tmp_path: Path) -> None:
    one, other = (long_history(tmp_path / name, 120) for name in ("one", "other"))
    end = one.references[f"refs/tags/{END}"].target
    assert end == other.references[f"refs/tags/{END}"].target
    walker = one.walk(end)
    walker.hide(one.references[f"refs/tags/{BEGINNING}"].target)
    commits = list(walker)
    assert len(commits) == 120
    assert any(len(commit.parents) == 2 for commit in commits)


def test_a_process_of_its_own_writes_the_notes_and_is_measured(tmp_path: Path) -> None:
    long_history(tmp_path, 40)
    run = write_notes(tmp_path)
    assert run.took_s > 0
    assert 10 < run.peak_mb < 500
    with pytest.raises(EngrainError, match="no commits yet"):
        write_notes(Path(str(pygit2.init_repository(str(tmp_path / "empty"), bare=True).path)))
