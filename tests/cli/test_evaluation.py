"""`engrain eval …`: every suite has its command, and each command ends with the right code."""

import builtins
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from evals.runs import Journal, Options, Run, new_record
from evals.suites import SUITES
from tests.evals.sets import write_own
from tests.evals.test_compare import GOOD, N, run


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, ["eval", *words])


def keep(folder: Path, stored: Run) -> str:
    journal = Journal(folder, new_record("retrieval", {"name": stored.name}, {"talks": "ab"}, {}))
    journal.cases, journal.parts = [*stored.cases], [*stored.parts]
    return journal.finish().name


def test_without_a_command_it_measures_retrieval(tmp_path: Path) -> None:
    done = invoke("--data", str(tmp_path), "--runs", str(tmp_path / "runs"))
    assert done.exit_code == 2
    assert "holds no folder" in done.output
    assert not (tmp_path / "runs").exists()


def test_runs_are_listed_shown_compared_and_gated(tmp_path: Path) -> None:
    runs = ("--runs", str(tmp_path))
    assert "no runs" in invoke("runs", *runs).output
    good, worse = keep(tmp_path, GOOD), keep(tmp_path, run("worse", [0.0] * N))
    assert good in invoke("runs", *runs).output
    assert f"# Evaluation {good}" in invoke("report", good, *runs).output
    compared = invoke("compare", good, worse, *runs)
    assert compared.exit_code == 0, compared.output
    assert "| -1.000 [-1.000, -1.000] | worse" in compared.output
    baseline = tmp_path / "baseline.jsonl"
    assert invoke("baseline", good, str(baseline), *runs).exit_code == 0
    assert [invoke("gate", str(baseline), name, *runs).exit_code for name in (good, worse)] == [0, 1]
    assert invoke("gate", str(baseline), "nowhere", *runs).exit_code == 2
    assert invoke("gate", "latest", *runs).exit_code == 2
    assert invoke("compare", good, worse, "--arms", "fast", *runs).exit_code == 2


def test_files_are_validated(tmp_path: Path) -> None:
    file = write_own(tmp_path)
    assert invoke("validate", str(file)).exit_code == 0
    file.write_text("{}\n")
    done = invoke("validate", str(file))
    assert done.exit_code == 1
    assert f"{file}, line 1, field kind: " in done.output


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("PORT=1", "ENGRAIN_NAME=VALUE"),
        ("ENGRAIN_DATA_DIR=1", "ENGRAIN_DATA_DIR is chosen for the server that is started"),
        ("ENGRAIN_LATE_INTERACTON=false", "did you mean ENGRAIN_LATE_INTERACTION?"),
        ("ENGRAIN_OIDC={", "ENGRAIN_OIDC"),
    ],
)
def test_a_setting_that_is_none_is_refused(setting: str, word: str) -> None:
    done = invoke("--setting", setting)
    assert done.exit_code == 2
    assert word in " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize("command", sorted(SUITES))
def test_every_suite_takes_a_name_and_settings_of_its_server(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    asked: list[tuple[str, Options]] = []

    def run_suite(name: str, options: Options, _: object) -> int:
        asked.append((name, options))
        return 0

    monkeypatch.setattr("cli.evaluation.run_suite", run_suite)
    done = invoke(command, "--name", "new", "--setting", "ENGRAIN_LATE_INTERACTION=false")
    assert done.exit_code == 0, done.output
    ((name, options),) = asked
    assert (name, options.changed()) == (command, {"name", "server"})


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *rest: object, **named: object) -> object:
        if name == "ir_measures":
            raise ImportError(name)
        return load(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    done = invoke("--set", str(write_own(tmp_path)), "--runs", str(tmp_path))
    assert done.exit_code == 2
    assert "engrain[eval]" in done.output
