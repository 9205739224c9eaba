"""Our own form of labelled sets: read whole, or refused with file, line and field."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.commands import check_files
from evals.datasets import Question, Text, check_file, read_own
from evals.harness.loading import _entity
from evals.harness.places import Place
from stores.errors import EngrainError
from tests.evals.sets import own_lines, write_lines, write_own


def test_a_set_is_read_with_its_hints_and_grades(tmp_path: Path) -> None:
    found = read_own(write_own(tmp_path))
    assert (found.name, found.unit, found.door, found.aim.measure, found.aim.floor) == (
        "talks", "turn", "recall", "recall@10", 0.5,
    )  # fmt: skip
    assert found.texts[1] == Text(
        "north-1", "north", "I deleted the old backups, so there is room until Friday.", "", "monday", 1,
        "2026-05-04T09:00:00+00:00",
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
    assert (whole, beside.name, beside.aim.measure) == (found, "talks unanswered", "AUROC")
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
    (problem,) = check_file(write_lines(tmp_path / "only.jsonl", only)).problems
    assert "one question that it answers" in problem.message
    elsewhere = [*own_lines(), {**lines[-1], "haystack": "east"}]
    (problem,) = check_file(write_lines(tmp_path / "east.jsonl", elsewhere)).problems
    assert (problem.field, problem.line, "no text in the haystack 'east'" in problem.message) == ("haystack", 15, True)
    apart = [{**line, "apart": True} if line.get("answers") else line for line in lines]
    (problem,) = check_file(write_lines(tmp_path / "apart.jsonl", apart)).problems
    assert "some to be held against" in problem.message


def test_a_compressed_set_with_a_line_separator_in_a_text_is_read(tmp_path: Path) -> None:
    lines = own_lines()
    lines[1]["content"] = "one\u2028two"
    assert read_own(write_lines(tmp_path / "talks.jsonl.gz", lines)).texts[0].content == "one\u2028two"


def wrong(change: dict[str, Any]) -> dict[str, Any]:
    return {**own_lines()[1], "id": "new", "ordinal": 9, **change}


@pytest.mark.parametrize(
    ("line", "field", "word"),
    [
        (wrong({"content": ""}), "content", "at least 1"),
        (wrong({"captured_at": "yesterday"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "2023-W01"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "2023-05"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "7d"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "2023-02-30"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "2023-05-04T25:00"}), "captured_at", "write 2026-05-04 or"),
        (wrong({"captured_at": "2023-05-04" + " " * 300}), "captured_at", "write 2026-05-04 or"),
        (wrong({"content": "a\0b"}), "content", "U+0000"),
        (wrong({"name": "a\0b"}), "name", "U+0000"),
        (wrong({"thread_id": "a\0b"}), "thread_id", "U+0000"),
        ({"kind": "question", "id": "q", "text": "a\0", "answers": ["north-0"]}, "text", "U+0000"),
        (wrong({"ordinal": 2**63}), "ordinal", "it is no number between -2^63 and 2^63"),
        (wrong({"ordinal": True}), "ordinal", "it is no number"),
        (wrong({"ordinal": "1"}), "ordinal", "it is no number"),
        (wrong({"ordinal": 0}), "ordinal", "line 2 has this place"),
        (wrong({"colour": "red"}), "colour", "not permitted"),
        (wrong({"id": "north-0"}), "id", "already"),
        (wrong({"kind": "wish"}), "kind", "wish"),
        ({"id": "x"}, "kind", "discriminator"),
        ({"kind": "set", "name": "b", "unit": "turn", "door": "recall"}, "kind", "the first"),
        ({"kind": "question", "id": "q", "text": "?", "answers": ["nowhere"]}, "answers", "no text 'nowhere'"),
        ({"kind": "question", "id": "q", "text": "?", "answers": ["north-0"]}, "answers", "no text 'north-0'"),
        ({"kind": "question", "id": "q", "text": "?"}, "answers", "required"),
        ({"kind": "question", "id": "q", "text": "?", "answers": {"north-0": 0}}, "answers", "greater than or equal"),
        ({"kind": "question", "id": "q", "text": "", "answers": ["north-0"]}, "text", "at least 1"),
        ({"kind": "question", "id": "q", "text": " \t\u3000", "answers": ["north-0"]}, "text", "nothing but spaces"),
        (
            {"kind": "question", "id": "q", "text": "?", "haystack": "north", "answers": ["north-0", "north-0"]},
            "answers",
            "names 'north-0' more than once: keep one",
        ),
        ({**own_lines()[-1], "answers": ["north-0"]}, "id", "already"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_problem_is_named_with_its_file_line_and_field(
    tmp_path: Path, line: dict[str, Any], field: str, word: str
) -> None:
    file = write_lines(tmp_path / "talks.jsonl", [*own_lines(), line])
    problems = [problem for problem in check_file(file).problems if word in problem.message]
    assert [(problem.file, problem.line, problem.field) for problem in problems][:1] == [(file, 15, field)]
    said: list[str] = []
    assert check_files([file], said.append) == 1
    assert any(one.startswith(f"{file}, line 15, field {field}: ") for one in said)
    with pytest.raises(EngrainError, match="line 15"):
        read_own(file)


@pytest.mark.parametrize(
    ("line", "field", "word"),
    [
        ('{"kind": "text", "id": "x", "id": "y", "content": "z"}', "id", "more than once: keep one"),
        ('{"kind": "text", "kind": "text", "id": "x", "content": "z"}', "kind", "more than once: keep one"),
        (
            '{"kind": "question", "id": "q", "text": "?", "answers": {"north-0": 1, "north-0": 2}}',
            "answers",
            "'north-0' more than once",
        ),
        ('{"kind": "text", "id": "x", "content": "\\ud800"}', "content", "surrogate"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_json_allows_and_no_server_keeps_is_refused_with_its_field(
    tmp_path: Path, line: str, field: str, word: str
) -> None:
    file = write_own(tmp_path)
    file.write_text(file.read_text() + line + "\n")
    assert [(p.line, p.field, word in p.message) for p in check_file(file).problems] == [(15, field, True)]


@pytest.mark.parametrize("said", ["2023-05-04", "2023-05-04T09:00", "2023-05-04 09:00:00.5+02:00", "2023-05-04t24:00z"])
def test_days_and_times_of_capture_are_read(tmp_path: Path, said: str) -> None:
    lines = own_lines()
    lines[1]["captured_at"] = said
    assert read_own(write_lines(tmp_path / "talks.jsonl", lines)).texts[0].captured_at == said


@pytest.mark.parametrize("flaw", [{"content": ""}, {"content": "a\0b"}, {"colour": "red"}], ids=repr)
def test_a_text_that_is_wrong_is_named_once_and_not_with_every_question_about_it(
    tmp_path: Path, flaw: dict[str, Any]
) -> None:
    lines = own_lines()
    lines[1] |= flaw
    assert [problem.line for problem in check_file(write_lines(tmp_path / "talks.jsonl", lines)).problems] == [2]
    alone = [lines[0], lines[1], {"kind": "question", "id": "q", "text": "?", "haystack": "north", "answers": []}]
    assert [problem.line for problem in check_file(write_lines(tmp_path / "one.jsonl", alone)).problems] == [2]


def test_a_line_that_is_empty_or_no_json_is_named_by_its_own_number_alone(tmp_path: Path) -> None:
    file = write_own(tmp_path)
    file.write_text(file.read_text() + '\n{"kind": }\n')
    assert [(p.line, p.message) for p in check_file(file).problems] == [
        (15, "it is empty: remove it"),
        (16, "it is no JSON: Expecting value, column 10"),
    ]


def test_what_is_no_json_or_no_set_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(own_lines()[0]) + "\n{broken\n")
    assert [(p.line, "no JSON" in p.message) for p in check_file(file).problems] == [(2, True)]
    file.write_text(json.dumps(own_lines()[1]) + "\n")
    assert check_file(file).problems[0].message == "the first line has to be of kind set"
    (tmp_path / "b.jsonl.gz").write_bytes(b"not gzip")
    assert "cannot be read" in check_file(tmp_path / "b.jsonl.gz").problems[0].message
    (absent,) = check_file(tmp_path / "absent.jsonl").problems
    assert str(absent) == f"{tmp_path / 'absent.jsonl'}: it cannot be read: No such file or directory"


@pytest.mark.parametrize(
    "first", ['{"kind": "set", "name": "A B", "unit": "turn", "door": "recall"}', "{broken", "", '{"kind": "wish"}']
)
def test_problems_after_a_first_line_that_has_one_are_named_and_none_that_are_not_there(
    tmp_path: Path, first: str
) -> None:
    file = write_own(tmp_path)
    others = [json.dumps(line) for line in own_lines()[1:]]
    file.write_text("\n".join([first, *others[:3], '{"kind": "text", "id": "x"}', *others[3:], "{broken"]) + "\n")
    problems = check_file(file).problems
    assert [problem.line for problem in problems] == [1, 5, 16]
    assert not any("has to be of kind set" in problem.message for problem in problems)


def test_a_file_that_begins_with_a_text_is_checked_to_its_end(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", [*own_lines()[1:], {"kind": "text", "id": "x"}])
    assert [(problem.line, problem.field) for problem in check_file(file).problems] == [(1, "kind"), (14, "content")]


@pytest.mark.parametrize(
    ("aims", "field", "word"),
    [
        ({"floor": 0.9, "goal": 0.5}, "floor", "it is above the goal, 0.9 above 0.5"),
        ({"floor": None, "goal": 0.5}, "goal", "add the floor"),
    ],
)
def test_aims_that_contradict_each_other_or_decide_nothing_are_named(
    tmp_path: Path, aims: dict[str, Any], field: str, word: str
) -> None:
    lines = own_lines()
    (problem,) = check_file(write_lines(tmp_path / "a.jsonl", [{**lines[0], **aims}, *lines[1:]])).problems
    assert (problem.line, problem.field, word in problem.message) == (1, field, True)
    equal = {"floor": 0.5, "goal": 0.5}
    assert not check_file(write_lines(tmp_path / "b.jsonl", [{**lines[0], **equal}, *lines[1:]])).problems


def test_what_is_searched_for_needs_a_name(tmp_path: Path) -> None:
    head, text = {**own_lines()[0], "door": "search"}, own_lines()[1]
    del text["thread_id"], text["ordinal"]
    found = check_file(write_lines(tmp_path / "a.jsonl", [head, text]))
    assert [(problem.line, problem.field) for problem in found.problems] == [(2, "name")]


def test_what_is_searched_for_stands_in_no_thread_and_may_say_when_it_was_captured(tmp_path: Path) -> None:
    head, text, *rest = own_lines()
    head, text = {**head, "door": "search"}, {**text, "name": "Disk"}
    found = check_file(write_lines(tmp_path / "a.jsonl", [head, text]))
    assert [(problem.line, problem.field) for problem in found.problems] == [(2, "thread_id"), (2, "ordinal")]
    del text["thread_id"], text["ordinal"]
    question = {**rest[3], "answers": [text["id"]]}
    collection = read_own(write_lines(tmp_path / "b.jsonl", [head, text, question]))
    sent = _entity(Place(project_id="project_1"), collection, collection.texts[0])
    assert sent["metadata"] == {"project_id": "project_1", "captured_at": "2026-05-04T09:00:00+00:00"}


def test_a_sound_file_is_said_to_be(tmp_path: Path) -> None:
    said: list[str] = []
    assert check_files([write_own(tmp_path)], said.append) == 0
    assert said[0].endswith("talks, 8 texts, 5 questions.")
