"""`engrain eval history`: labels are made by rule from a log, and what relations and recency add shows on a server."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from evals.comparison import compare
from evals.history.commits import read_project
from evals.history.run import MOST_COMMITS, PER_PROJECT, first_sentence, questions_of
from evals.options import Options
from evals.runs import read_run
from evals.suites import NOTHING_TO_MEASURE, run_suite
from tests.evals.sets import write_lines

LOG = "gitlog_acme+forge.jsonl.gz"
ROW = '{"from": "", "to": "", "sha": "a", "date": "2026-01-01", "subject": "x", "body": "", "files": []}'


def commit(number: int, subject: str, body: str = "", *, day: str = "2026-03-01", files: str = "") -> dict[str, Any]:
    sha = f"{number:040x}"
    row = {"repo": "acme/forge", "from": "1", "to": "2", "sha": sha, "date": day, "subject": subject, "body": body}
    return {**row, "files": files.split()}


def write_log(folder: Path, newest_first: list[dict[str, Any]]) -> Path:
    return write_lines(folder / LOG, newest_first)


def asked(folder: Path, newest_first: list[dict[str, Any]]) -> dict[str, dict[str, set[int]]]:
    found = questions_of(read_project(write_log(folder, newest_first)))
    return {kind: {q.text: {int(sha, 16) for sha in q.grades} for q in each} for kind, each in found.items()}


def test_a_file_is_asked_for_unless_a_subject_of_its_commits_names_it(tmp_path: Path) -> None:
    rows = [
        commit(4, "Heat", files="src/größe.py src/named.py tests/test_once.py"),
        commit(3, "Look after NAMED.py", files="src/named.py"),
        commit(2, "Cool", files="src/größe.py src/größe.py"),
        commit(2, "Cool", files="src/größe.py"),
        commit(1, "Begin", files="lone.py"),
    ]
    assert asked(tmp_path, rows)["relation"] == {"what changed in src/größe.py": {2, 4}}


def test_a_file_that_too_many_commits_touch_is_not_asked_for(tmp_path: Path) -> None:
    rows = [commit(n, f"Step {n}", files="all.py" if n <= MOST_COMMITS else "all.py most.py") for n in range(20)]
    assert asked(tmp_path, rows)["relation"] == {}
    assert asked(tmp_path, rows[:MOST_COMMITS])["relation"] == {"what changed in all.py": set(range(MOST_COMMITS))}


def test_the_latest_is_the_newest_of_those_that_say_the_same_but_for_numbers(tmp_path: Path) -> None:
    rows = [
        commit(7, "Docs", day="2026-03-09"),
        commit(6, "docs", day="2026-03-09"),
        commit(5, "Bump ruff from v1.2 to 1.3 (#9)", day="2026-03-08"),
        commit(4, "Alone", day="2026-03-07"),
        commit(3, "bump Ruff from 1.1.0rc1 to v1.2 (#8)", day="2026-03-06"),
        commit(2, "#12", day="2026-03-05"),
        commit(1, "#11", day="2026-03-04"),
    ]
    assert asked(tmp_path, rows)["latest"] == {"the latest bump ruff from to": {5}}


@pytest.mark.parametrize(
    ("body", "said"),
    [("", ""), ("Signed-off-by: Ada <ada@example.org>\nCo-authored-by: Bob <bob@example.org>", ""),
     ("One line\r\ngoes on. Another one.", "One line goes on."), ("* First item\n* second", "First item"),
     ("A heading\n\nA text.", "A heading"), ("Größe v1.2 wächst! Sehr.", "Größe v1.2 wächst!"),
     ("1. One\n2. Two", "One"), ("---------\n\nCo-authored-by: x <x@example.org>", "")],
)  # fmt: skip
def test_the_first_sentence_of_a_body_is_read(body: str, said: str) -> None:
    assert first_sentence(body) == said


def test_a_body_asks_for_its_commit_unless_it_is_short_or_says_nothing_of_its_own(tmp_path: Path) -> None:
    told = "The furnace overheats when nobody watches the dial."
    rows = [
        commit(8, "Watch the dial", f"{told} More."),
        commit(7, "Copied once", "Workers wear gloves whenever they pour hot metal."),
        commit(6, "Copied twice", "Workers wear gloves whenever they pour hot metal."),
        commit(5, "Short", "Only five words are here."),
        commit(4, "Mend the door of the hall that creaks (#4)", "mend the door of the hall that creaks"),
        commit(3, "Polish 1", "Somebody polishes every anvil before the guests come."),
        commit(2, "Polish 2", "Somebody else polishes the tongs after they left."),
        commit(1, "Numbers", "#1, #2, #3, #4, #5, #6, #7, #8"),
    ]
    assert asked(tmp_path, rows)["plain"] == {told: {8}}


def test_of_many_questions_the_same_are_drawn_each_time(tmp_path: Path) -> None:
    rows = [commit(n, f"Step {n % 80}{'b' * (n // 80)}", files=f"file{n % 80}.txt") for n in range(160)]
    first = asked(tmp_path, rows)["relation"]
    assert len(first) == PER_PROJECT
    assert first == asked(tmp_path, rows)["relation"]


def test_the_newest_commit_is_of_yesterday(tmp_path: Path) -> None:
    rows = [commit(2, "New", day="2024-03-01"), commit(1, "Old", day="2024-02-28")]
    days = read_project(write_log(tmp_path, rows)).days
    assert [(ago, [each.subject for each in commits]) for ago, commits in days] == [(3, ["Old"]), (1, ["New"])]


def test_without_logs_it_says_so_and_exits_2(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["eval", "history", "--data", str(tmp_path), "--runs", str(tmp_path / "runs")])
    assert done.exit_code == NOTHING_TO_MEASURE
    assert "Give --data PATH" in done.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "content",
    [b"not gzip", gzip.compress(b"{}\n")[:-4], gzip.compress(b"{}\n"), gzip.compress(b""), gzip.compress(b"[1]\n"),
     gzip.compress(ROW.replace("2026-01-01", "soon").encode()), gzip.compress(ROW.replace('"x"', "1").encode())],
    ids=["no gzip", "torn", "no fields", "empty", "a list", "no date", "no text"],
)  # fmt: skip
def test_a_damaged_log_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOG).write_bytes(content)
    said: list[str] = []
    assert run_suite("history", Options(tmp_path, runs=tmp_path / "runs"), said.append) == NOTHING_TO_MEASURE
    assert len(said) == 1
    assert f"{LOG} cannot be read as a log" in said[0]


def test_logs_about_which_nothing_can_be_asked_are_refused(tmp_path: Path) -> None:
    write_log(tmp_path, [commit(1, "Begin")])
    said: list[str] = []
    assert run_suite("history", Options(tmp_path, runs=tmp_path / "runs"), said.append) == NOTHING_TO_MEASURE
    assert said[0].startswith("Nothing can be asked")


TOUCHING = ("Karl", "Tara")


def smithy() -> list[dict[str, Any]]:
    people = ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Igor", "June", "Karl", "Lea", "Milo", "Nina",
              "Otto", "Pia", "Quinn", "Rosa", "Sven", "Tara"]  # fmt: skip
    rows = [
        commit(n, f"Help {name} with the furnace", files="src/furnace.py" if name in TOUCHING else "")
        for n, name in enumerate(people, 100)
    ]
    rows += [commit(10 + n, f"Bump coal to {n}.0", day=f"2026-0{n}-05") for n in (1, 2, 3)]
    rows.append(
        commit(20, "Close the gate for horses", "The horses walked off through an open gate.", day="2026-01-04")
    )
    return rows[::-1]


@pytest.mark.slow
def test_relations_and_recency_find_what_is_not_found_without_them(tmp_path: Path) -> None:
    write_log(tmp_path / "corpora", smithy())
    said: list[str] = []
    options = Options(tmp_path, runs=tmp_path / "runs")
    assert run_suite("history", options, said.append) == 0, said
    stored = read_run("latest", tmp_path / "runs")
    judged = {part.set: part.measure for part in stored.parts}
    assert judged == {"history relation": "recall@10", "history latest": "MRR@10", "history plain": "nDCG@10"}
    notes = {part.note for part in stored.parts}
    assert notes == {"as any client gets it", "use_enhanced=false", "boost_recent=false"}
    values = {(case.set.split()[1], case.arm): case.values[judged[case.set]] for case in stored.cases}
    assert values["relation", "fast"] == 1
    assert values["relation", "without-graph"] < 1
    assert values["latest", "fast"] == 1
    assert values["latest", "without-recency"] < 1
    assert {values["plain", arm] for arm in ("fast", "without-graph", "without-recency")} == {1.0}
    lines = compare(stored, stored, ("without-graph", "fast")).lines
    assert {line.set: line.after - line.before > 0 for line in lines if line.is_headline} == {
        "history relation": True, "history latest": False, "history plain": False,
    }  # fmt: skip
