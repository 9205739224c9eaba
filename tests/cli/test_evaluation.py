"""`engrain eval …`: every suite has its command, and what is compared or checked ends with the right code."""

import builtins
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.evaluation import group
from cli.main import app
from evals.options import Options
from evals.results import Outcome
from evals.runs import Archive, Journal, Stored, new_record
from evals.suites import SUITES
from tests.evals.sets import write_own
from tests.evals.test_compare import GOOD, N, run

WITH_A_SERVER = sorted(set(SUITES) - {"release-notes"})


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, ["eval", *words])


def keep(folder: Path, stored: Stored) -> str:
    journal = Journal.begin(folder, new_record("retrieval", {"name": stored.name}, {}, {"talks": "ab"}))
    return Archive(folder).finish(journal, Outcome(stored.cases, stored.parts)).name


def test_every_suite_has_its_command() -> None:
    names = {command.name or getattr(command.callback, "__name__", "") for command in group.registered_commands}
    assert set(SUITES) <= names


def test_without_a_command_it_measures_retrieval(tmp_path: Path) -> None:
    done = invoke("--data", str(tmp_path), "--runs", str(tmp_path / "runs"))
    assert done.exit_code == 2
    assert "holds no folder" in done.output
    assert not (tmp_path / "runs").exists()


def test_runs_are_listed_shown_compared_and_gated(tmp_path: Path) -> None:
    runs = ("--runs", str(tmp_path))
    assert "no runs" in invoke("runs", *runs).output
    good, worse = keep(tmp_path, GOOD), keep(tmp_path, run("worse", [0.0] * N))
    listed = invoke("runs", *runs)
    assert good in listed.output
    html = tmp_path / "page.html"
    shown = invoke("report", good, *runs, "--html", str(html))
    assert shown.exit_code == 0, shown.output
    assert f"Evaluation {good}" in html.read_text()
    table = tmp_path / "table.md"
    compared = invoke("compare", good, worse, *runs, "--markdown", str(table))
    assert compared.exit_code == 0, compared.output
    assert "| -1.000 [-1.000, -1.000] | <.001 | worse |" in table.read_text()
    baseline = tmp_path / "baseline.jsonl"
    assert invoke("baseline", good, str(baseline), *runs).exit_code == 0
    assert [invoke("gate", str(baseline), name, *runs).exit_code for name in (good, worse)] == [0, 1]
    assert invoke("gate", str(baseline), good, "--max-p50", "9", *runs).exit_code == 1
    assert invoke("gate", str(baseline), "nowhere", *runs).exit_code == 2
    assert invoke("compare", good, worse, "--arms", "fast", *runs).exit_code == 2


def test_files_are_validated(tmp_path: Path) -> None:
    file = write_own(tmp_path)
    assert invoke("validate", str(file)).exit_code == 0
    file.write_text("{}\n")
    done = invoke("validate", str(file))
    assert done.exit_code == 1
    assert f"{file}, line 1, field kind: " in done.output


def test_a_setting_that_is_none_is_refused() -> None:
    done = invoke("--setting", "PORT=1")
    assert done.exit_code == 2
    assert "ENGRAIN_NAME=VALUE" in done.output


@pytest.mark.parametrize("name", ["ENGRAIN_DATA_DIR", "ENGRAIN_HOST", "ENGRAIN_PORT"])
def test_where_the_server_runs_is_no_setting_of_it(name: str) -> None:
    done = invoke("--setting", f"{name}=1")
    assert done.exit_code == 2
    assert f"{name} is chosen for the server that is started" in " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize("command", WITH_A_SERVER)
def test_a_setting_that_no_server_knows_is_refused_with_the_nearest(tmp_path: Path, command: str) -> None:
    # No run could be kept in a file, so that none is measured where this fails.
    (tmp_path / "runs").touch()
    done = invoke(command, "--setting", "ENGRAIN_LATE_INTERACTON=false", "--runs", str(tmp_path / "runs"))
    assert done.exit_code == 2
    said = " ".join(done.output.replace("│", " ").split())
    assert "ENGRAIN_LATE_INTERACTON is not a setting of Engrain; did you mean ENGRAIN_LATE_INTERACTION?" in said


@pytest.mark.parametrize("command", sorted(SUITES))
def test_every_suite_takes_settings_of_its_server_and_begins_afresh(
    monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    asked: list[Options] = []

    def run_suite(name: str, options: Options, _: object) -> int:
        asked.append(options)
        return int(name != command)

    monkeypatch.setattr("evals.suites.run_suite", run_suite)
    settings = ["--setting", "ENGRAIN_LATE_INTERACTION=false"] if command in WITH_A_SERVER else []
    done = invoke(command, "--afresh", *settings)
    assert done.exit_code == 0, done.output
    assert [options.afresh for options in asked] == [True]
    assert asked[0].server == ({"ENGRAIN_LATE_INTERACTION": "false"} if settings else {})


def test_providers_that_cannot_be_read_are_refused() -> None:
    done = invoke("--setting", "ENGRAIN_OIDC={")
    assert done.exit_code == 2
    assert "Invalid value for --setting: ENGRAIN_OIDC" in " ".join(done.output.split())


@pytest.mark.parametrize("sets", ["", ",,", " , "])
@pytest.mark.parametrize("command", ["retrieval", "usage"])
def test_a_list_without_a_set_is_refused_and_not_taken_for_all(tmp_path: Path, command: str, sets: str) -> None:
    runs = tmp_path / "runs"
    done = invoke(command, "--set", sets, "--data", str(tmp_path), "--runs", str(runs))
    assert done.exit_code == 2
    assert "it names no set" in done.output
    assert not runs.exists()


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
