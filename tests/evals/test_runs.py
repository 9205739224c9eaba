import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from evals.report import markdown
from evals.runs import RECORD, Case, Journal, Part, Record, new_record, read_run, stored_runs
from stores.errors import EngrainError

SECRET = "s3cret-of-a-server-that-nobody-may-read"
CASE = Case("talks", "fast", "turn", "q1", {"recall@10": 1.0}, category="all", found=["a"])
PART = Part("talks", "fast", "turn", 1, "recall@10", note="as any client gets it")


def record(name: str = "", **changes: str) -> Record:
    server = {"ENGRAIN_JWT_SECRET": SECRET, "ENGRAIN_EMBEDDING_PROVIDER": "none", **changes}
    return new_record("retrieval", {"name": name, "arms": ("fast",)}, {"talks": "ab"}, {"server": server})


def run_folder(runs: Path, name: str) -> Path:
    return next(folder for folder, _ in stored_runs(runs) if folder.name == name)


def test_runs_are_read_by_place_and_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        journal = Journal(tmp_path, record())
        journal.cases.append(CASE)
        names.append(journal.finish().name)
    assert [read_run(name, tmp_path).name for name in ("latest~1", "latest", names[0])] == [*names, names[0]]
    for name in ("nowhere", "latest~2", "", names[0][:4]):
        with pytest.raises(EngrainError, match="engrain eval runs"):
            read_run(name, tmp_path)
    (run_folder(tmp_path, names[0]) / RECORD).write_text("{")
    with pytest.raises(EngrainError, match="Remove its folder"):
        stored_runs(tmp_path)


def test_no_file_and_no_report_of_a_run_holds_a_secret_and_duckdb_reads_the_cases(tmp_path: Path) -> None:
    journal = Journal(tmp_path, record())
    journal.cases.append(CASE)
    journal.parts.append(PART)
    run = journal.finish()
    report = markdown(run)
    assert SECRET not in report
    assert "ENGRAIN_JWT_SECRET (set)" in report
    assert all(path.is_dir() or SECRET not in path.read_text() for path in tmp_path.rglob("*"))
    query = f"SELECT arm, avg(\"values\"['recall@10']) FROM read_json('{tmp_path}/*/cases.jsonl') GROUP BY arm"
    assert duckdb.sql(query).fetchall() == [("fast", 1.0)]


def test_a_report_has_targets_measures_and_notes(tmp_path: Path) -> None:
    journal = Journal(tmp_path, record())
    for number, value in enumerate((0.5, 0.7)):
        journal.cases.append(replace(CASE, id=f"q{number}", values={"recall@10": value}, took_ms=12.0, tokens=8))
    journal.parts.append(replace(PART, floor=0.5, goal=0.9, p50_limit_ms=10))
    report = markdown(journal.finish())
    (target,) = [line for line in report.splitlines() if line.startswith("| talks")]
    cells = [cell.strip() for cell in target.strip("|").split("|")]
    assert cells[:4] == ["talks", "fast", "turn", "2"]
    assert cells[7:] == [".500 / .900", "passed", "12.0", "12.0", "10", "MISSED", "8", "-"]
    assert all(f"| {name} " in report for name in ("(all)", "all"))
    assert "- fast: as any client gets it." in report


def test_a_record_describes_the_checkout_and_the_machine() -> None:
    found = record()
    assert json.loads(json.dumps(found.machine))["cores"] > 0
    assert {"lancedb", "tantivy"} <= set(found.versions)
    assert found.model == "none"
    remote = {"ENGRAIN_EMBEDDING_PROVIDER": "openai", "ENGRAIN_EMBEDDING_MODEL": "m"}
    assert record(**remote).model == "m (openai)"
