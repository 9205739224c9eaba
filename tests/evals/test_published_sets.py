"""Readers of labelled collections in the files in which they are published, with our own texts."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.datasets import Question, Text
from tests.evals.sets import read_public as read
from tests.evals.sets import write_lines

HEADER = "query-id\tcorpus-id\tscore\n"


def write_beir(folder: Path, *splits: str, packed: bool = False) -> None:
    end = ".gz" if packed else ""
    write_lines(folder / f"corpus.jsonl{end}", [{"_id": n, "title": f"T{n}", "text": f"text {n}"} for n in "123"])
    write_lines(
        folder / f"queries.jsonl{end}", [{"_id": each, "text": f"{each}?"} for each in ("dev", "test", "train")]
    )
    (folder / "qrels").mkdir()
    for split in splits:
        (folder / "qrels" / f"{split}.tsv").write_text(f"{HEADER}{split}\t2\t2\n{split}\t3\t0\n")


@pytest.mark.parametrize("packed", [False, True])
def test_beir_is_read_as_published_and_asks_judged_queries_only(tmp_path: Path, packed: bool) -> None:
    write_beir(tmp_path, "test", "train", packed=packed)
    found = read("scifact", tmp_path)
    assert found.texts[0] == Text("1", "", "text 1", "T1")
    assert len(found.texts) == 3
    assert found.questions == (Question("test", "", "test?", {"2": 2}),)
    assert (found.files[-1], found.remarks) == ("qrels/test.tsv", ())
    assert read("cosqa", tmp_path).questions == found.questions


def test_judgements_for_development_come_before_those_for_tests_and_training(tmp_path: Path) -> None:
    write_beir(tmp_path, "train", "test", "dev")
    assert [question.id for question in read("scifact", tmp_path).questions] == ["dev"]
    write_lines(tmp_path / "queries-dev.jsonl", [{"_id": "own", "text": "own?"}])
    (tmp_path / "qrels-dev.tsv").write_text(f"{HEADER}own\t1\t1\n")
    assert read("scifact", tmp_path).questions == (Question("own", "", "own?", {"1": 1}),)


def test_judgements_of_queries_that_are_not_there_are_told(tmp_path: Path) -> None:
    write_beir(tmp_path, "test")
    with (tmp_path / "qrels" / "test.tsv").open("a") as file:
        file.write("gone\t1\t1\nlost\t1\t1\nlost\t2\t0\n")
    found = read("scifact", tmp_path)
    assert [question.id for question in found.questions] == ["test"]
    assert found.remarks == ("2 queries that test.tsv judges and queries.jsonl lacks",)


def locomo_sample(name: str) -> dict[str, Any]:
    sittings: dict[str, Any] = {"speaker_a": "Ada", "speaker_b": "Bo", "session_4_date_time": "9:00 am on 1 July, 2023"}
    for number in (1, 2, 3):
        sittings[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
        sittings[f"session_{number}"] = [
            {"speaker": "Ada", "dia_id": f"D{number}:1", "text": f"{name} {number}", "img_url": ["x"],
             "blip_caption": "a cat"},
            {"speaker": "Bo", "dia_id": f"D{number}:2", "text": "Yes"},
        ]  # fmt: skip
    asked = [
        {"question": "Several?", "answer": 7, "evidence": ["D1:1; D2:2", "D:3:01"], "category": 1},
        {"question": "None?", "answer": "x", "evidence": [], "category": 3},
        {"question": "Not there?", "answer": "x", "evidence": ["D9:9", "D"], "category": 4},
        {"question": "Trap?", "adversarial_answer": "x", "evidence": ["D2:1"], "category": 5},
    ]
    return {"sample_id": name, "conversation": sittings, "qa": asked, "event_summary": {}}


def test_locomo_is_read_as_published(tmp_path: Path) -> None:
    samples = [locomo_sample("conv-1"), locomo_sample("conv-2")]
    (tmp_path / "locomo10.json").write_text(json.dumps(samples))
    found = read("locomo", tmp_path)
    assert (found.unit, found.files, len(found.texts)) == ("turn", ("locomo10.json",), 12)
    said = "[1:56 pm on 2 May, 2023] Ada: conv-2 2 [shares a cat]"
    assert found.texts[8] == Text("D2:1", "conv-2", said, "", "conversation-1", 0, "2023-05-02T13:56:00+00:00")
    several = {"D1:1": 1, "D2:2": 1, "D3:1": 1}
    assert found.questions[:2] == (
        Question("conv-1-q0", "conv-1", "Several?", several, "conv-1", "1 multi-hop"),
        Question("conv-1-q3", "conv-1", "Trap?", {"D2:1": 1}, "conv-1", "5 adversarial", apart=True),
    )
    assert [question.haystack for question in found.questions] == ["conv-1", "conv-1", "conv-2", "conv-2"]
    # One question of each names turns alone that nobody said.
    assert found.remarks == ("2 questions whose evidence names no turn",)


def longmemeval_line(name: str, ids: list[str], **more: object) -> dict[str, Any]:
    sessions = [
        [
            {"role": "user", "content": f"{each} asks", "has_answer": True},
            {"role": "assistant", "content": "an answer"},
            {"role": "user", "content": "Thanks"},
        ]
        for each in ids
    ]
    return {
        "question_id": name, "question_type": "multi-session", "question": f"{name}?", "answer": "x",
        "question_date": "2023/05/30 (Tue) 23:40", "haystack_session_ids": ids, "haystack_sessions": sessions,
        "haystack_dates": [f"2023/05/{day:02} (Sat) 02:21" for day in range(1, len(ids) + 1)],
        "answer_session_ids": ids[:1], **more,
    }  # fmt: skip


@pytest.mark.parametrize("file", ["longmemeval_s_cleaned.json", "longmemeval_s.json", "longmemeval_oracle.json"])
def test_longmemeval_is_read_as_published(tmp_path: Path, file: str) -> None:
    lines = [
        longmemeval_line("q1", ["s1", "s2", "s1"]),
        longmemeval_line("q2", ["s3", "s2"], question_type="single-session-assistant"),
        longmemeval_line("q3_abs", ["s4"]),
    ]
    lines[1]["haystack_sessions"][1] = [{"role": "assistant", "content": "nobody asked"}]
    (tmp_path / file).write_text(json.dumps(lines))
    found = read("longmemeval", tmp_path)
    assert [(text.haystack, text.id) for text in found.texts] == [("q1", "s1"), ("q1", "s2"), ("q2", "s3")]
    assert found.texts[1] == Text(
        "s2", "q1", "s2 asks\nThanks", thread_id="conversation-1", ordinal=0, captured_at="2023-05-02T02:21:00+00:00"
    )
    assert found.questions == (
        Question("q1", "q1", "q1?", {"s1": 1}, category="multi-session"),
        Question("q2", "q2", "q2?", {"s3": 1}, category="single-session-assistant", apart=True),
    )
    assert (found.files, found.remarks) == ((file,), ())
    lines[0]["answer_session_ids"] = ["s1", "s9"]
    (tmp_path / file).write_text(json.dumps(lines))
    remark = "1 questions need a session without a user turn, which counts as not found"
    assert read("longmemeval", tmp_path).remarks == read("longmemeval-pooled", tmp_path).remarks == (remark,)
    lines[0]["answer_session_ids"] = ["s1"]
    (tmp_path / file).write_text(json.dumps(lines))
    pooled = read("longmemeval-pooled", tmp_path)
    assert [(text.haystack, text.id) for text in pooled.texts] == [("", "s1"), ("", "s2"), ("", "s3"), ("", "s4")]
    assert [question.id for question in pooled.questions] == ["q1", "q2"]
    assert pooled.unanswered == (Question("q3_abs", "", "q3_abs?", {}, category="multi-session"),)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("locomo", ["locomo10-dev.json", "locomo10.json"]),
        ("longmemeval", ["questions-dev.jsonl.gz", "longmemeval_s.json", "longmemeval_oracle.json"]),
        ("scifact", ["corpus.jsonl.gz", "corpus.jsonl"]),
    ],
)
def test_what_is_missing_is_named_with_the_files_that_are_accepted(tmp_path: Path, name: str, files: list[str]) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read(name, tmp_path)
    assert all(file in str(caught.value) for file in files)
