"""Whatever is typed wrong is told in a sentence with exit code 2, before anything is measured."""

import json
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from evals.results import Case, Outcome, Part
from evals.runs import Archive, Journal, new_record
from tests.evals.sets import write_own

ALWAYS_FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not ALWAYS_FULL.exists(), reason="Linux alone has a disk that is always full.")


def typed(*words: object, **environ: str) -> Result:
    result = CliRunner().invoke(app, ["eval", *map(str, words)], env={"COLUMNS": "200", **environ})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def keep_run(runs: Path, name: str = "") -> str:
    journal = Journal.begin(runs, new_record("retrieval", {"name": name}, {}, {"talks": "ab"}))
    case = Case("talks", "fast", "turn", "q1", {"recall@10": 1.0}, question="?", wanted={"a": 1}, found=("a",))
    return Archive(runs).finish(journal, Outcome([case], [Part("talks", "fast", "turn", 1, "recall@10")])).name


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "http://", "ftp://localhost:1", "http://localhost:99999", "http://localhost:x",
        "http://localhost:1/ x", "http://localhost:1?a=b", "http://me@localhost:1", "http://[::1", "//",
        "http://local host:1",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused(tmp_path: Path, url: str) -> None:
    result = typed("--set", write_own(tmp_path), "--runs", tmp_path / "runs", "--url", url)
    assert result.exit_code == 2
    assert "is not the address of a server" in result.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["packs", "history", "reflection", "synthesis", "usage", "retrieval"])
def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path: Path, command: str) -> None:
    result = typed(command, "--runs", tmp_path / "runs", "--url", "http://ada:opensesame@localhost:1")
    assert result.exit_code == 2
    assert "'http://…@localhost:1' is not the address of a server" in result.output
    assert "opensesame" not in result.output


@pytest.mark.parametrize("url", ["localhost:1", "http://a..b:1", "http://localhost:1/ü", f"http://{'x' * 300}:1"])
def test_where_no_server_answers_no_run_begins(tmp_path: Path, url: str) -> None:
    result = typed("--set", write_own(tmp_path), "--runs", tmp_path / "runs", "--url", url)
    assert result.exit_code == 2
    assert "got no answer from http://" in result.output.replace("https://", "http://")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("token", ["schlüssel", "two words", "a\nb", "x\u200by"])
def test_what_is_no_key_is_refused(tmp_path: Path, token: str) -> None:
    result = typed("--set", write_own(tmp_path), "--url", "http://localhost:1", ENGRAIN_TOKEN=token)
    assert result.exit_code == 2
    assert "holds a character that no token and no key has" in result.output


@pytest.mark.parametrize(
    ("place", "reason"),
    [("nowhere/r", "no folder"), (".", "it is a folder"), ("talks.jsonl/r", "no folder"), ("/proc/r", "written")],
)
@pytest.mark.parametrize("option", ["--html", "--json", "--markdown"])
def test_a_report_that_could_not_be_written_is_refused_before_anything_is_measured(
    tmp_path: Path, option: str, place: str, reason: str
) -> None:
    file, runs = write_own(tmp_path), tmp_path / "runs"
    result = typed("--set", file, "--runs", runs, option, tmp_path / place)
    assert result.exit_code == 2
    assert f"{tmp_path / place} cannot be written: " in result.output
    assert reason in result.output
    assert not runs.exists()


@pytest.mark.parametrize(("option", "word"), [("--arm", "it names no arm"), ("--set", "it names no set")])
def test_a_list_of_nothing_is_refused(tmp_path: Path, option: str, word: str) -> None:
    result = typed("--set", write_own(tmp_path), "--runs", tmp_path / "runs", option, " , ")
    assert (result.exit_code, word in result.output) == (2, True)


def test_two_reports_in_one_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    result = typed("report", "--json", tmp_path / "r", "--html", tmp_path / "x" / ".." / "r", "--runs", tmp_path)
    assert result.exit_code == 2
    assert "--json and --html name one file" in result.output


@needs_full
@pytest.mark.parametrize("option", ["--html", "--json", "--markdown"])
def test_a_full_disk_at_the_end_is_told_with_the_way_to_the_report(tmp_path: Path, option: str) -> None:
    run = keep_run(tmp_path)
    result = typed("report", "--runs", tmp_path, option, ALWAYS_FULL)
    assert result.exit_code == 2
    assert "/dev/full cannot be written: No space left on device. Name another file." in result.output
    assert f"The run is kept: `engrain eval report {run}` writes it." in result.output


@pytest.mark.parametrize("place", ["nowhere/b.jsonl", ".", pytest.param(ALWAYS_FULL, marks=needs_full)])
def test_a_baseline_and_a_comparison_that_cannot_be_written_are_refused(tmp_path: Path, place: str | Path) -> None:
    keep_run(tmp_path)
    for words in (("baseline", "latest", tmp_path / place), ("compare", "latest", "--markdown", tmp_path / place)):
        result = typed(*words, "--runs", tmp_path)
        assert result.exit_code == 2
        assert f"{tmp_path / place} cannot be written: " in result.output


@pytest.mark.parametrize("name", ["latest~x", "latest~", "latest~²", "latest~-1", "latest~1~1", "", "x" * 5000, "\x01"])
def test_what_names_no_run_is_refused(tmp_path: Path, name: str) -> None:
    keep_run(tmp_path)
    for command in ("report", "gate", "compare"):
        result = typed(command, name, "--runs", tmp_path)
        assert result.exit_code == 2
        assert "There is no finished run" in result.output


@pytest.mark.parametrize(
    "content",
    [
        "[1]", '"a"', "{", "{}", '{"set": 1, "arm": [], "unit": "c", "id": "d", "values": 3}',
        '{"set": "a", "arm": "b", "unit": "c", "id": "d", "values": {"x": "y"}}',
        '{"set": "a", "arm": "b", "unit": "c", "id": "d", "values": {"x": NaN}}', "\xff",
        '{"set": "a", "arm": "b", "unit": "c", "id": "d", "values": {"x": 1e308}}',
        '{"set": "a", "arm": "b", "unit": "c", "id": "d", "values": {}, "score": Infinity}',
    ],
)  # fmt: skip
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: str) -> None:
    keep_run(tmp_path)
    (tmp_path / "b.jsonl").write_bytes(content.encode("latin-1"))
    result = typed("gate", tmp_path / "b.jsonl", "--runs", tmp_path)
    assert result.exit_code == 2
    assert "holds no cases of a run" in result.output


def test_a_file_in_place_of_the_folder_of_runs_is_refused(tmp_path: Path) -> None:
    file = write_own(tmp_path)
    assert typed("runs", "--runs", file).exit_code == 2
    result = typed("--set", file, "--runs", file)
    assert result.exit_code == 2
    assert "No run can be kept in" in result.output


def test_a_name_that_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    result = typed("--set", write_own(tmp_path), "--runs", tmp_path / "runs", "--name", "a\nb")
    assert result.exit_code == 2
    assert "--name is 'a\\nb'" in result.output


BROKEN = {
    "half": '{"id": "half", "suite": "retr',
    "list": "[]",
    "naive": json.dumps({"id": "n", "suite": "s", "started_at": "2026-01-01T00:00:00"}),
    "empty": "",
}


def test_runs_that_cannot_be_read_are_named_and_passed_over(tmp_path: Path) -> None:
    for name, content in BROKEN.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(content)
    (tmp_path / "folder" / "run.json").mkdir(parents=True)
    run = keep_run(tmp_path)
    for words in (("runs",), ("report", "latest")):
        result = typed(*words, "--runs", tmp_path)
        assert result.exit_code == 0
        assert run in result.output
        for name in (*BROKEN, "folder"):
            assert f"Warning: {tmp_path / name / 'run.json'} cannot be read as a run" in result.output


@pytest.mark.parametrize("content", ["{}", "[", json.dumps({"id": "n", "suite": "s"})])
def test_a_run_that_is_wanted_and_cannot_be_read_is_told_of_once(tmp_path: Path, content: str) -> None:
    keep_run(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text(content)
    for words in (("report", "broken"), ("gate", "broken"), ("compare", "latest", "broken")):
        result = typed(*words, "--runs", tmp_path)
        assert result.exit_code == 2
        assert result.output.count("cannot be read as a run") == 1
        assert "Warning" not in result.output
        assert "no finished run" not in result.output


def test_a_run_that_is_wanted_and_not_finished_is_said_to_be(tmp_path: Path) -> None:
    journal = Journal.begin(tmp_path, new_record("retrieval", {"name": ""}, {}, {}))
    journal.close()
    result = typed("report", journal.record.id, "--runs", tmp_path)
    assert (result.exit_code, "is not finished" in result.output) == (2, True)


def test_a_gate_between_a_run_and_itself_is_refused(tmp_path: Path) -> None:
    run = keep_run(tmp_path)
    for words in (("latest",), (run,), (tmp_path / run, "latest~0")):
        result = typed("gate", *words, "--runs", tmp_path)
        assert result.exit_code == 2
        assert f"The baseline is the run {run} itself" in result.output
        assert "The gate is" not in result.output


def test_a_damaged_database_costs_a_page_the_other_runs_alone_and_is_told(tmp_path: Path) -> None:
    keep_run(tmp_path)
    (tmp_path / "runs.duckdb").write_text("no database")
    result = typed("report", "--runs", tmp_path, "--html", tmp_path / "r.html")
    assert (result.exit_code, "move it away" in result.output) == (0, True)
    assert "talks" in (tmp_path / "r.html").read_text()


def test_a_run_whose_files_are_gone_is_a_sentence(tmp_path: Path) -> None:
    run = keep_run(tmp_path)
    assert typed("report", "--runs", tmp_path, "--html", tmp_path / "r.html").exit_code == 0
    (tmp_path / run / "cases.parquet").unlink()
    result = typed("report", "--runs", tmp_path)
    assert (result.exit_code, f"The files of the run {run}" in result.output) == (2, True)


def test_no_run_begins_that_a_damaged_database_could_not_take(tmp_path: Path) -> None:
    (tmp_path / "runs.duckdb").write_text("no database")
    result = typed("--set", write_own(tmp_path), "--runs", tmp_path)
    assert (result.exit_code, "move it away" in result.output) == (2, True)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_run_whose_questions_are_all_apart_has_a_page(tmp_path: Path) -> None:
    journal = Journal.begin(tmp_path, new_record("retrieval", {}, {}, {"talks": "ab"}))
    case = Case("talks", "fast", "turn", "q1", {"recall@10": 1.0}, apart=True, question="?", took_ms=3.0)
    Archive(tmp_path).finish(journal, Outcome([case], [Part("talks", "fast", "turn", 1, "recall@10")]))
    assert typed("report", "--runs", tmp_path, "--html", tmp_path / "r.html").exit_code == 0
    assert "talks" in (tmp_path / "r.html").read_text()


def test_a_database_of_an_earlier_version_takes_the_runs_of_this_one(tmp_path: Path) -> None:
    keep_run(tmp_path)
    with duckdb.connect(str(tmp_path / "runs.duckdb")) as database:
        database.execute("ALTER TABLE cases DROP COLUMN score")
    later = keep_run(tmp_path)
    with duckdb.connect(str(tmp_path / "runs.duckdb")) as database:
        counted = database.execute("SELECT run_id, count(*), count(score) FROM cases GROUP BY ALL").fetchall()
    assert len(counted) == 2
    assert later in {run for run, _, _ in counted}


def test_a_run_is_told_by_how_far_it_is(tmp_path: Path) -> None:
    names = ("measured", "never", "answered")
    journals = {name: Journal.begin(tmp_path, new_record("retrieval", {"name": name}, {}, {})) for name in names}
    journals["answered"].add(Case("talks", "fast", "turn", "q1", {"recall@10": 1.0}))
    for name in ("never", "answered"):
        journals[name].close()
    shown = " ".join(typed("runs", "--runs", tmp_path).output.split())
    for word in ("being measured", "never started", "interrupted, 1 answers", "Removing the folder of a run"):
        assert word in shown
    journals["measured"].close()


def test_a_run_that_could_not_start_leaves_nothing_behind(tmp_path: Path) -> None:
    words = ("--set", write_own(tmp_path), "--runs", tmp_path / "runs")
    result = typed(*words, "--setting", "ENGRAIN_EMBEDDING_PROVIDER=nobody")
    assert result.exit_code == 2
    assert "nothing is kept" in result.output
    assert list((tmp_path / "runs").iterdir()) == []


def test_answers_that_cannot_be_read_are_a_sentence_and_afresh_throws_them_away(tmp_path: Path) -> None:
    record = new_record("retrieval", {"name": ""}, {}, {})
    journal = Journal.begin(tmp_path, record)
    journal.close()
    for content in ('{"set": 1}\n', "[]\n", "{\n", "3\n", '"a"\n'):
        (journal.folder / "cases.jsonl").write_text(content)
        with pytest.raises(Exception, match="--afresh") as refused:
            Journal.begin(tmp_path, record)
        assert type(refused.value).__name__ == "EngrainError"
    again = Journal.begin(tmp_path, record, afresh=True)
    assert not again.is_resumed
    again.close()
