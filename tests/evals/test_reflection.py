"""The labelled notes are sound, and what reflection finds in them stays as good as it was."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from evals.options import Options
from evals.reflection import Label, Note, Pair, read_notes, read_pairs, score_notes
from evals.reflection.cases import note_case, pair_case
from evals.reflection.labels import SPLITS
from evals.reflection.scoring import overlap, score_pairs
from evals.reports.figures import summaries
from evals.reports.worst import as_table, worst
from evals.runs import Archive, Stored
from evals.suites import run_suite
from tools.reflection import KINDS, Finding, extract

FLOOR = {"dev": 0.82, "test": 0.68}
"""F1 over all kinds; measured were 0.85 and 0.71."""


def finding(kind: str, start: int, end: int, confidence: float = 0.8) -> Finding:
    return Finding(kind, "t", "c", start, end, "r.", confidence, ("reflection", kind))  # type: ignore[arg-type]


def test_the_set_is_sound() -> None:
    notes = [note for split in SPLITS for note in read_notes(split)]
    assert len(notes) >= 60
    assert len({note.id for note in notes}) == len(notes)
    assert {note.split for note in notes} == set(SPLITS)
    assert len(read_notes("test")) >= 20
    labels = Counter(label.kind for note in notes for label in note.expected)
    assert set(labels) == set(KINDS)
    for note in notes:
        spans = sorted((label.start, label.end) for label in note.expected)
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), note.id
    assert sum(not note.expected for note in notes) >= 4


def test_pairs_ask_both_ways() -> None:
    asked = Counter((pair.asks, pair.expected) for pair in read_pairs())
    assert min(asked.values()) >= 8
    assert len(asked) == 4


@pytest.mark.parametrize("split", SPLITS)
def test_what_is_found_stays_as_good_as_it_was(split: str) -> None:
    result = score_notes(read_notes(split), extract)  # type: ignore[arg-type]
    assert result.overall.f1 >= FLOOR[split]
    assert result.forbidden_found <= result.forbidden // 5


def test_sure_findings_are_right_more_often_than_doubtful_ones() -> None:
    result = score_notes([note for split in SPLITS for note in read_notes(split)], extract)
    doubtful, *_, sure = [band for band in result.bands if band.n >= 15]
    assert sure.precision > doubtful.precision


def test_a_finding_meets_a_label_of_its_kind_that_it_half_covers() -> None:
    note = Note("n", "dev", "x", "x" * 100, (Label("task", 0, 20), Label("claim", 50, 70)), ((80, 90),))
    found = [finding("task", 0, 15), finding("task", 1, 19), finding("idea", 50, 70, 0.6), finding("plan", 80, 90)]
    result = score_notes([note], lambda _: found)
    assert (result.overall.right, result.overall.wrong, result.overall.missed) == (1, 3, 1)
    assert (result.any_kind.right, result.any_kind.wrong, result.any_kind.missed) == (2, 2, 0)
    assert (result.by_kind["task"].right, result.by_kind["task"].wrong) == (1, 1)
    assert result.forbidden_found == 1
    assert [(band.n, round(band.precision, 2)) for band in result.bands] == [(1, 0.0), (3, 0.33)]
    assert overlap((0, 10), (5, 15)) == pytest.approx(1 / 3)


def test_where_nothing_is_to_be_found_finding_nothing_is_right() -> None:
    note = Note("n", "dev", "x", "We had cake.", (), ())
    measures = ("F1", "precision", "recall")
    assert note_case(note, []).values == dict.fromkeys(measures, 1.0)
    assert note_case(note, [finding("task", 0, 5)]).values == dict.fromkeys(measures, 0.0)
    wanted = Note("n", "dev", "x", "We had cake.", (Label("task", 0, 5),), ())
    assert note_case(wanted, []).values == dict.fromkeys(measures, 0.0)


def test_a_report_says_of_a_note_what_was_found_and_what_was_missed() -> None:
    text = "Buy milk today.\nIt rains.  The roof\nleaks at night."
    note = Note("n", "dev", "x", text, (Label("task", 0, 15), Label("claim", 27, 51)), ())
    case = note_case(note, [finding("idea", 16, 25, 0.7), finding("task", 0, 14, 0.9)])
    # What meets a label goes by its span, so that a report finds it among what was wanted.
    assert case.wanted == {"task 0-15": 1, "claim 27-51": 1}
    assert case.found == ("task 0-15", "idea 16-25")
    assert case.best == ["task: Buy milk today", "idea: It rains."]
    assert case.missed == ["claim: The roof leaks at night."]
    missed = pair_case("duplicate-0", Pair("duplicate", "dev", "New.", "Old.", True), answer=False)
    wrong = pair_case("duplicate-1", Pair("duplicate", "dev", "New.", "Old.", False), answer=True)
    rows = as_table(worst(summaries(Stored("run", None, [case, missed, wrong], [])), 5)).rows
    assert [row[3:] for row in rows] == [
        ["rules .500, at 1 of 2", "claim: The roof leaks at night.", f"rules: {' / '.join(case.best)}"],
        ["rules .000, not found", "a duplicate", "rules: nothing"],
        ["rules .000, not found", "-", "rules: a duplicate"],
    ]


def test_pairs_are_counted_by_question() -> None:
    pairs = [
        Pair("duplicate", "dev", "The cache is cold at night.", "The cache is cold at night", True),
        Pair("duplicate", "dev", "The cache is cold.", "Nobody likes Mondays.", True),
        Pair("contradiction", "dev", "It is on.", "Nobody likes Mondays.", False),
    ]
    scores = score_pairs(pairs, lambda pair: pair.expected and "cache" in pair.old)
    assert (scores["duplicate"].precision, scores["duplicate"].recall) == (1.0, 0.5)
    assert scores["contradiction"].right + scores["contradiction"].wrong == 0


@pytest.mark.parametrize(
    ("entry", "word"),
    [({"kind": "task", "text": "absent"}, "0 times"), ({"kind": "task", "text": "it"}, "2 times"),
     ({"kind": "wish", "text": "do"}, "no kind wish")],
)  # fmt: skip
def test_a_damaged_label_is_refused_with_the_name_of_its_note(
    tmp_path: Path, entry: dict[str, str], word: str
) -> None:  # fmt: skip
    row = {"id": "n1", "split": "dev", "form": "x", "notes": "do it, it is due", "expected": [entry], "forbidden": []}
    (tmp_path / "notes-dev.jsonl").write_text(json.dumps(row))
    with pytest.raises(ValueError, match=f"n1.*{word}"):
        read_notes("dev", tmp_path)


def test_a_server_finds_what_the_rules_find_and_the_run_is_kept_note_by_note(tmp_path: Path) -> None:
    said: list[str] = []
    table, report = tmp_path / "table.md", tmp_path / "report.json"
    options = Options(runs=tmp_path / "runs", json_file=report, markdown_file=table)
    assert run_suite("reflection", options, said.append) == 0
    assert all(f"| {kind} |" in table.read_text() for kind in KINDS)
    document = json.loads(report.read_text())["suite"]
    assert set(document["notes"]) == set(SPLITS)
    for split in SPLITS:
        # What the server answers is what the rules find.
        direct = score_notes(read_notes(split), extract).overall  # type: ignore[arg-type]
        assert document["notes"][split]["overall"]["right"] == direct.right
        assert document["notes"][split]["overall"]["wrong"] == direct.wrong
        # Contradictions are rarely cried wrongly.
        pairs = document["pairs"][split]
        assert pairs["contradiction"]["precision"] >= 0.85
        assert pairs["contradiction"]["recall"] >= 0.8
        assert pairs["duplicate"]["f1"] >= 0.85
    assert document["reflection_of_20000_characters_ms"]["n"] > 0
    stored = Archive(tmp_path / "runs").read("latest")
    kept = [case for case in stored.cases if case.set == "reflection-notes"]
    assert len(kept) == sum(len(read_notes(split)) for split in SPLITS)
    assert {case.category for case in kept} == set(SPLITS)
