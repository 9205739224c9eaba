"""The labelled requests are sound, documents are judged apart from the product's own checks, and the suite runs."""

import json
from pathlib import Path

import pytest

from evals.options import Options
from evals.packs.world import SPLITS
from evals.report import summaries
from evals.runs import read_run
from evals.suites import run_suite
from evals.synthesis.run import FOLDER, Drafted, borne_out, read_requests, score

LEAST_CITED = {"dev": 0.85, "test": 0.75}


def test_a_section_that_names_no_record_is_refused(tmp_path: Path) -> None:
    row = json.loads((FOLDER / "sections.jsonl").read_text(encoding="utf-8").split("\n")[0])
    row["sections"][0]["must"] = ["nowhere"]
    (tmp_path / "sections.jsonl").write_text(json.dumps(row))
    with pytest.raises(ValueError, match=r"s01.*nowhere"):
        read_requests(tmp_path)


def test_documents_are_held_against_their_labels() -> None:
    drafted = Drafted(["a", "x"], supported=3, statements=4, gaps=frozenset(), by_section={}, characters=9)
    scores = score(drafted, frozenset("ab"), frozenset("x"), frozenset("y"))
    assert scores == {"needed cited": 0.5, "statements supported": 0.75, "nothing wrong": 0, "nothing off topic": 1}


def test_a_statement_is_borne_out_by_the_letters_of_what_it_cites() -> None:
    texts = {"one": "Seat holds\nA hold lasts  15 minutes. Nobody may extend it.", "two": "Refunds\nPaid at night."}
    said = [
        {"name": "Seat holds", "text": "A hold lasts 15 minutes.", "source_ids": ["one"]},
        {"name": None, "text": "A hold lasts 16 minutes.", "source_ids": ["one"]},
        {"name": None, "text": "Nobody may extend it.", "source_ids": ["two"]},
        {"name": None, "text": "Nobody may extend it.", "source_ids": []},
        {"name": None, "text": "… Nobody may extend it.", "source_ids": ["two", "one"],
         "related": [{"name": "Refunds paid by hand", "text": "", "source_ids": ["two"]}]},
    ]  # fmt: skip
    assert borne_out(said, texts) == (2, 6)


@pytest.mark.slow
def test_the_suite_runs_and_documents_stay_as_good_as_they_were(tmp_path: Path) -> None:
    said: list[str] = []
    assert run_suite("synthesis", Options(runs=tmp_path / "runs", limit=8), said.append) == 0, said
    figures = {
        (summary.part.set, summary.part.arm, figure.category, figure.measure): figure.interval.mean
        for summary in summaries(read_run("latest", tmp_path / "runs"))
        for figure in summary.figures
    }
    assert {key[:2] for key in figures} == {
        ("goals", "brief"), ("goals", "standard"), ("goals", "deep"), ("sections", "standard"),
    }  # fmt: skip
    for split in SPLITS:
        assert figures["goals", "standard", split, "needed cited"] >= LEAST_CITED[split]
        assert figures["goals", "deep", split, "statements supported"] == 1
        assert figures["goals", "deep", split, "nothing wrong"] == 1
    assert figures["sections", "standard", "dev", "gaps found"] == 1
