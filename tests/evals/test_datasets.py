"""Readers of labelled collections, on files of the same form with our own texts."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evals.datasets import READERS, Collection, Question, Text


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_beir(folder: Path, texts: list[dict[str, Any]]) -> None:
    write_lines(folder / "corpus.jsonl.gz", texts)
    write_lines(folder / "queries-dev.jsonl", [{"_id": "q1", "text": "one?"}, {"_id": "q2", "text": "unjudged?"}])
    (folder / "qrels-dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t1\t1\nq1\t2\t0\n")


def test_scifact_has_titles_and_judged_questions_only(tmp_path: Path) -> None:
    write_beir(tmp_path, [{"_id": "1", "title": "Cells", "text": "A\u2028B"}, {"_id": "2", "title": "", "text": "C"}])
    found = READERS["scifact"](tmp_path)
    assert found.texts == (Text("1", "", "Cells", "A\u2028B"), Text("2", "", "untitled", "C"))
    assert found.questions == (Question("q1", "", "one?", {"1": 1}),)


def test_cosqa_names_each_text_after_its_function(tmp_path: Path) -> None:
    write_beir(tmp_path, [{"_id": "1", "text": "def get_it(x):\n    return x"}, {"_id": "2", "text": "x = 1\ny = 2"}])
    assert [text.name for text in READERS["cosqa"](tmp_path).texts] == ["get_it", "x = 1"]


def test_locomo_has_a_haystack_and_a_group_for_each_conversation(tmp_path: Path) -> None:
    conversation = {
        "speaker_a": "Ada",
        "session_1_date_time": "1 May 2023",
        "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "Hello", "blip_caption": "a cat"}],
    }
    (tmp_path / "locomo10-dev.json").write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation}]))
    line = {
        "qid": "q", "conv": "conv-1", "category": 4, "category_name": "single-hop", "question": "Who?",
        "evidence": ["D1:1", "D9:9"], "scorable": True,
    }  # fmt: skip
    others = [{**line, "category": 5}, {**line, "scorable": False}, {**line, "evidence": ["D9:9"]}]
    write_lines(tmp_path / "qa-dev.jsonl.gz", [line, *others])
    found = READERS["locomo"](tmp_path)
    assert found.texts == (Text("D1:1", "conv-1", "Ada, 1 May 2023", "Hello [shares a cat]"),)
    assert found.questions == (Question("q", "conv-1", "Who?", {"D1:1": 1}, group="conv-1", kind="single-hop"),)


def test_longmemeval_leaves_abstention_out_and_lets_the_listed_sessions_compete(tmp_path: Path) -> None:
    write_lines(tmp_path / "sessions-dev.jsonl.gz", [{"session_id": "s1", "user_turns": ["Hello", "Bye"]}])
    line = {
        "question_id": "q", "question_type": "temporal", "question": "When?", "answer_session_ids": ["s1"],
        "haystack_session_ids": ["s1", "s2"], "abstention": False,
    }  # fmt: skip
    write_lines(tmp_path / "questions-dev.jsonl.gz", [line, {**line, "abstention": True}])
    found = READERS["longmemeval"](tmp_path)
    assert found.texts[0].content == "Hello\nBye"
    assert found.questions == (Question("q", "", "When?", {"s1": 1}, among=frozenset({"s1", "s2"}), kind="temporal"),)


@pytest.fixture
def collection() -> Collection:
    """A hundred texts and ten questions, in two haystacks that use the same ids."""
    texts = tuple(Text(str(n), haystack, "name", f"text {n}") for haystack in "ab" for n in range(50))
    questions = tuple(Question(f"{h}{n}", h, "?", {str(n): 1}) for h in "ab" for n in range(5))
    return Collection("sample", "text", texts, questions)


def test_a_sample_keeps_what_is_judged_and_is_the_same_each_time(collection: Collection) -> None:
    found = collection.sample(3)
    assert len(found.questions) == 3
    assert found == collection.sample(3)
    kept = {(text.haystack, text.id) for text in found.texts}
    assert all((question.haystack, text_id) in kept for question in found.questions for text_id in question.grades)
    assert len(found.texts) < len(collection.texts)


def test_a_sample_of_everything_is_the_collection(collection: Collection) -> None:
    assert collection.sample(10) is collection
