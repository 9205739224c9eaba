"""`engrain eval`: a labelled set in, figures out, and a sentence where there is nothing to measure."""

import json
from pathlib import Path

from evals.evaluate import NOTHING_TO_MEASURE, Options, run_eval
from tests.evals.test_datasets import write_lines

SUBJECTS = {
    "retry": "Calls to other services are repeated three times with growing pauses.",
    "cache": "The build cache lies on the fast disk and is emptied every night.",
    "login": "Somebody who forgets a password receives a link by e-mail.",
    "parser": "Numbers in configuration files may carry a unit such as seconds or bytes.",
}
QUESTIONS = {"retry": "how often are calls repeated?", "login": "what happens when a password is forgotten?"}


def write_set(folder: Path) -> None:
    folder.mkdir(parents=True)
    texts = [{"_id": name, "title": name, "text": text} for name, text in SUBJECTS.items()]
    write_lines(folder / "corpus.jsonl.gz", texts)
    write_lines(folder / "queries-dev.jsonl", [{"_id": name, "text": text} for name, text in QUESTIONS.items()])
    rows = "".join(f"{name}\t{name}\t1\n" for name in QUESTIONS)
    (folder / "qrels-dev.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")


def test_a_small_set_is_loaded_asked_and_reported(tmp_path: Path) -> None:
    write_set(tmp_path / "data" / "scifact")
    said: list[str] = []
    report, table = tmp_path / "report.json", tmp_path / "report.md"
    options = Options(tmp_path / "data", json_file=report, markdown_file=table)
    assert run_eval(options, said.append) == 0
    collection = json.loads(report.read_text())["collections"][0]
    assert (collection["name"], collection["unit"]) == ("scifact", "abstract")
    assert (collection["texts"], collection["questions"]) == (4, 2)
    words, full = collection["results"]
    assert (words["lanes"], full["lanes"]) == ("words only", "all lanes")
    assert full["metrics"]["nDCG@10"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 2}
    assert full["search_ms"]["n"] == 2
    assert table.read_text() in said


def test_absent_data_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    for options, word in (
        (Options(tmp_path / "nowhere"), "no folder"),
        (Options(tmp_path), "holds no folder"),
        (Options(tmp_path, ("locomo",)), "locomo"),
        (Options(tmp_path, ("trec",)), "no data set trec"),
    ):
        said: list[str] = []
        assert run_eval(options, said.append) == NOTHING_TO_MEASURE
        assert len(said) == 1
        assert word in said[0]


def test_a_damaged_set_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    write_set(tmp_path / "scifact")
    (tmp_path / "scifact" / "corpus.jsonl.gz").write_bytes(b"not gzip")
    said: list[str] = []
    assert run_eval(Options(tmp_path), said.append) == NOTHING_TO_MEASURE
    assert "cannot be read as scifact" in said[-1]
