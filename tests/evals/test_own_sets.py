"""Our own form of labelled sets: read whole, or refused with file, line and field."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from evals.datasets import Question, Text, read_own
from stores.errors import EngrainError
from tests.evals.sets import own_lines, write_lines, write_own


def problems_of(file: Path) -> list[str]:
    with pytest.raises(EngrainError) as caught:
        read_own(file)
    return caught.value.message.splitlines()


def test_a_set_is_read_with_its_hints_and_grades(tmp_path: Path) -> None:
    found = read_own(write_own(tmp_path))
    assert (found.name, found.unit, found.door, found.aim.measure, found.aim.floor) == (
        "talks", "turn", "recall", "recall@10", 0.5,
    )  # fmt: skip
    assert found.texts[1] == Text(
        "north-1", "north", "I deleted the old backups, so there is room until Friday.", "", "monday", 1,
        "2026-05-04T09:00:00+00:00", "Ada",
    )  # fmt: skip
    assert found.questions[1] == Question(
        "north-printer", "north", "Who is the printer?", {"north-3": 2}, "north", "single"
    )
    assert [question.id for question in found.questions if question.apart] == ["apart"]


def test_what_nothing_answers_is_kept_apart_and_a_set_needs_something_that_is_answered(tmp_path: Path) -> None:
    lines = [*own_lines(), {"kind": "question", "id": "none", "haystack": "north", "text": "Why?", "answers": []}]
    found = read_own(write_lines(tmp_path / "talks.jsonl", lines))
    assert [question.id for question in found.unanswered] == ["none"]
    assert "none" not in {question.id for question in found.questions}
    whole, beside = found.halves
    assert (whole, beside.name, beside.aim.measure) == (found, "talks unanswered", "below@0.3")
    assert (beside.questions, beside.texts) == (found.unanswered, found.texts)
    # What was asked before is the same set as before, by its hash as well.
    assert whole.digest() == read_own(write_own(tmp_path)).digest() != beside.digest()
    assert read_own(write_own(tmp_path)).halves == [read_own(write_own(tmp_path))]
    # Of a sample those are kept whose haystack is.
    assert {len(found.sample(1, seed).unanswered) for seed in range(9)} == {0, 1}
    many = [{**lines[-1], "id": f"none-{number}"} for number in range(9)]
    more = read_own(write_lines(tmp_path / "many.jsonl", [*own_lines(), *many]))
    drawn = more.sample(7)
    assert (len(drawn.questions), len(drawn.unanswered), drawn.is_sample) == (5, 7, True)
    assert more.sample(9) is more
    only = [line for line in lines if line["kind"] != "question" or line["id"] == "none"]
    (problem,) = problems_of(write_lines(tmp_path / "only.jsonl", only))
    assert "one question with an answer" in problem
    elsewhere = [*own_lines(), {**lines[-1], "haystack": "east"}]
    (problem,) = problems_of(write_lines(tmp_path / "east.jsonl", elsewhere))
    assert "line 15, field haystack: there is no text in the haystack 'east'" in problem


def test_a_compressed_set_with_a_line_separator_in_a_text_is_read(tmp_path: Path) -> None:
    lines = own_lines()
    lines[1]["content"] = "one\u2028two"
    assert read_own(write_lines(tmp_path / "talks.jsonl.gz", lines)).texts[0].content == "one\u2028two"


def wrong(change: dict[str, Any]) -> dict[str, Any]:
    return {**own_lines()[1], "id": "new", **change}


QUESTION = {"kind": "question", "id": "q", "text": "?", "haystack": "north", "answers": ["north-0"]}


@pytest.mark.parametrize(
    ("line", "field", "word"),
    [
        (wrong({"content": ""}), "content", "at least 1"),
        (wrong({"captured_at": "2023-W01"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "7d"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "2023-02-30"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"colour": "red"}), "colour", "not permitted"),
        (wrong({"id": "north-0"}), "id", "already"),
        (wrong({"kind": "wish"}), "kind", "wish"),
        ({"id": "x"}, "kind", "discriminator"),
        ({"kind": "set", "name": "b", "unit": "turn", "door": "recall"}, "kind", "the first"),
        ({**QUESTION, "answers": ["nowhere"]}, "answers", "no text 'nowhere'"),
        ({**QUESTION, "haystack": "south"}, "answers", "no text 'north-0'"),
        ({**QUESTION, "answers": {"north-0": 0}}, "answers", "greater than or equal"),
        ({**QUESTION, "text": " \t\u3000"}, "text", "pattern"),
        ({**QUESTION, "id": "apart"}, "id", "already"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_problem_is_named_with_its_file_line_and_field(
    tmp_path: Path, line: dict[str, Any], field: str, word: str
) -> None:
    file = write_lines(tmp_path / "talks.jsonl", [*own_lines(), line])
    problems = problems_of(file)
    assert any(problem.startswith(f"{file}, line 15, field {field}: ") and word in problem for problem in problems)
    checked = CliRunner().invoke(app, ["eval", "validate", str(file)])
    assert (checked.exit_code, checked.output.splitlines()) == (1, problems)


@pytest.mark.parametrize("said", ["2023-05-04", "2023-05-04T09:00", "2023-05-04 09:00:00.5+02:00", "2023-05-04t24:00z"])
def test_days_and_times_of_capture_are_read(tmp_path: Path, said: str) -> None:
    lines = own_lines()
    lines[1]["captured_at"] = said
    assert read_own(write_lines(tmp_path / "talks.jsonl", lines)).texts[0].captured_at == said


def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path) -> None:
    file = write_own(tmp_path)
    file.write_text(file.read_text() + '\n{"kind": }\n')
    assert [problem.partition(": ")[0] for problem in problems_of(file)] == [
        f"{file}, line 15, field kind", f"{file}, line 16, field kind",
    ]  # fmt: skip
    write_lines(file, own_lines()[1:])
    assert "the first line is of kind set" in problems_of(file)[0]
    (tmp_path / "b.jsonl.gz").write_bytes(b"not gzip")
    for name in ("b.jsonl.gz", "absent.jsonl"):
        assert "cannot be read as a labelled set" in problems_of(tmp_path / name)[0]


@pytest.mark.parametrize("aims", [{"floor": 0.9, "goal": 0.5}, {"floor": None, "goal": 0.5}])
def test_a_goal_needs_a_floor_below_it(tmp_path: Path, aims: dict[str, Any]) -> None:
    lines = own_lines()
    (problem,) = problems_of(write_lines(tmp_path / "a.jsonl", [{**lines[0], **aims}, *lines[1:]]))
    assert "line 1, field goal: a goal needs a floor" in problem


def test_a_sound_file_is_said_to_be(tmp_path: Path) -> None:
    checked = CliRunner().invoke(app, ["eval", "validate", str(write_own(tmp_path))])
    assert checked.exit_code == 0
    assert checked.output.endswith("talks, 8 texts, 5 questions.\n")
