"""The labelled notes are sound, and what reflection finds in them stays as good as it was."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from evals.reflection.labelled_notes import NOTES, PAIRS, SPLITS, Note, note_case, overlap, read_notes, scores
from evals.runs import Case, Options, read_run
from evals.suites import run_suite
from tools.reflecting.reflection.extract import extract

FLOOR = {"dev": 0.82, "test": 0.68}


def found_by_rules(split: str) -> list[Case]:
    cases = []
    for note in read_notes(split):  # type: ignore[arg-type]
        surest = sorted(extract(note.notes), key=lambda each: -each.confidence)
        cases.append(note_case(note, [(each.kind, each.start, each.end) for each in surest]))
    return cases


def tally(cases: Iterable[Case], kind: str = "") -> tuple[int, int, int]:
    right = all_found = all_wanted = 0
    for case in cases:
        found, wanted = ([each for each in ids if each.startswith(kind)] for ids in (case.found, case.wanted))
        met = len({*found} & {*wanted})
        right, all_found, all_wanted = right + met, all_found + len(found), all_wanted + len(wanted)
    return right, all_found, all_wanted


@pytest.mark.parametrize("split", SPLITS)
def test_what_is_found_stays_as_good_as_it_was(split: str) -> None:
    cases = found_by_rules(split)
    assert scores(*tally(cases))["F1"] >= FLOOR[split]
    assert sum(not case.values["nothing forbidden"] for case in cases) <= 3


def test_a_finding_meets_a_label_of_its_kind_that_it_half_covers() -> None:
    note = Note("n", "dev", "x", "x" * 100, (("task", 0, 20), ("claim", 50, 70)), (("", 80, 90),))
    case = note_case(note, [("task", 0, 15), ("task", 1, 19), ("idea", 50, 70), ("plan", 80, 90)])
    assert tally([case]) == (1, 4, 2)
    assert tally([case], "task") == (1, 2, 1)
    assert case.values["nothing forbidden"] == 0
    # A finding that meets a label goes by the span of the label.
    assert (case.found[0], set(case.wanted)) == ("task 0-20", {"task 0-20", "claim 50-70"})
    assert overlap(("", 0, 10), ("", 5, 15)) == pytest.approx(1 / 3)


def test_where_nothing_is_to_be_found_finding_nothing_is_right() -> None:
    note, wanted = (Note("n", "dev", "x", "We had cake.", labels, ()) for labels in ((), (("task", 0, 5),)))
    for asked, found, value in ((note, [], 1), (note, [("task", 0, 5)], 0), (wanted, [], 0)):
        values = note_case(asked, found).values
        assert (values["F1"], values["precision"], values["recall"]) == (value,) * 3


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


@pytest.mark.slow
def test_a_server_finds_what_the_rules_find(tmp_path: Path) -> None:
    said: list[str] = []
    assert run_suite("reflection", Options(runs=tmp_path / "runs"), said.append) == 0, said
    cases = read_run("latest", tmp_path / "runs").cases
    answered = [case.key for case in cases if case.set != PAIRS]
    assert len(set(answered)) == len(answered) == sum(len(read_notes(split)) for split in SPLITS)
    for split in SPLITS:
        notes = [case for case in cases if (case.set, case.category) == (NOTES, split)]
        assert tally(notes) == tally(found_by_rules(split))
        pairs = [case for case in cases if case.set == PAIRS and case.category.startswith(split)]
        # Contradictions are rarely cried wrongly.
        contradictions = scores(*tally(pairs, "contradiction"))
        assert contradictions["precision"] >= 0.85
        assert contradictions["recall"] >= 0.8
        assert scores(*tally(pairs, "duplicate"))["F1"] >= 0.85
