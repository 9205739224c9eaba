"""Readers of labelled collections, on files of the same form with our own texts."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.datasets import Aim, Collection, Question, Text
from stores.errors import EngrainError
from tests.evals.sets import read_public as read
from tests.evals.sets import write_lines


def write_beir(folder: Path, texts: list[dict[str, Any]]) -> None:
    write_lines(folder / "corpus.jsonl.gz", texts)
    write_lines(folder / "queries-dev.jsonl", [{"_id": "q1", "text": "one?"}, {"_id": "q2", "text": "unjudged?"}])
    (folder / "qrels-dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t1\t1\nq1\t2\t0\n")


def test_scifact_has_titles_and_judged_questions_only(tmp_path: Path) -> None:
    write_beir(tmp_path, [{"_id": "1", "title": "Cells", "text": "A\u2028B"}, {"_id": "2", "title": "", "text": "C"}])
    found = read("scifact", tmp_path)
    assert found.texts == (Text("1", "", "A\u2028B", "Cells"), Text("2", "", "C", "untitled"))
    assert found.questions == (Question("q1", "", "one?", {"1": 1}),)
    assert (found.unit, found.door, found.entity_type) == ("document", "search", "document")
    assert found.aim.measure == "nDCG@10"


TEXTS = [{"_id": "1", "text": "A"}, {"_id": "2", "text": "B"}]


@pytest.mark.parametrize(
    ("corpus", "judged", "word"),
    [
        ([*TEXTS, TEXTS[0]], "", "corpus.jsonl.gz, line 3: the _id '1' comes twice"),
        (TEXTS, "q1\t9\t1\n", "qrels-dev.tsv: 'q1' is answered by ['9'], which "),
    ],
)
def test_what_would_measure_something_else_in_silence_is_refused(
    tmp_path: Path, corpus: list[dict[str, Any]], judged: str, word: str
) -> None:
    write_beir(tmp_path, corpus)
    with (tmp_path / "qrels-dev.tsv").open("a") as file:
        file.write(judged)
    with pytest.raises(EngrainError) as refused:
        read("scifact", tmp_path)
    assert word in refused.value.message


def test_judgements_may_begin_with_a_mark_and_hold_decimals_and_quotation_marks(tmp_path: Path) -> None:
    write_beir(tmp_path, [{"_id": '"1', "title": None, "text": "A"}])
    (tmp_path / "qrels-dev.tsv").write_text('\ufeffquery-id\tcorpus-id\tscore\nq1\t"1\t2.0\nq1\t"2\t-1\n')
    found = read("scifact", tmp_path)
    assert found.texts == (Text('"1', "", "A", "untitled"),)
    assert found.questions == (Question("q1", "", "one?", {'"1': 2}),)


def test_what_no_judgement_names_may_be_absent_or_empty(tmp_path: Path) -> None:
    write_beir(tmp_path, TEXTS)
    with (tmp_path / "queries-dev.jsonl").open("a") as file:
        file.write('{"_id": "q9", "text": ""}\n')
    with (tmp_path / "qrels-dev.tsv").open("a") as file:
        file.write("q1\t9\t0\n")
    assert [question.id for question in read("scifact", tmp_path).questions] == ["q1"]


def test_cosqa_names_each_pattern_after_its_function(tmp_path: Path) -> None:
    write_beir(tmp_path, [{"_id": "1", "text": "def get_it(x):\n    return x"}, {"_id": "2", "text": "x = 1\ny = 2"}])
    found = read("cosqa", tmp_path)
    assert [text.name for text in found.texts] == ["get_it", "x = 1"]
    assert found.entity_type == "pattern"


def test_locomo_has_a_haystack_and_a_cluster_for_each_conversation_and_a_thread_for_each_sitting(
    tmp_path: Path,
) -> None:
    turn = {"speaker": "Ada", "dia_id": "D1:1", "text": "Hello", "blip_caption": "a cat"}
    conversation = {
        "speaker_a": "Ada",
        "session_2_date_time": "11:05 am on 2 June, 2023",
        "session_2": [{**turn, "dia_id": "D2:1", "text": "Again"}, {"speaker": "Bo", "dia_id": "D2:2", "text": "Yes"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn],
    }
    (tmp_path / "locomo10-dev.json").write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation}]))
    line = {
        "qid": "q", "conv": "conv-1", "category": 4, "category_name": "single-hop", "question": "Who?",
        "evidence": ["D1:1", "D9:9"], "scorable": True,
    }  # fmt: skip
    adversarial = {**line, "qid": "q5", "category": 5, "category_name": "adversarial"}
    others = [{**line, "scorable": False}, {**line, "evidence": ["D9:9"]}]
    write_lines(tmp_path / "qa-dev.jsonl.gz", [line, adversarial, *others])
    found = read("locomo", tmp_path)
    said = "[1:56 pm on 8 May, 2023] Ada: Hello [shares a cat]"
    assert found.texts[0] == Text(
        "D1:1", "conv-1", said, "", "conversation-0", 0, "2023-05-08T13:56:00+00:00"
    )  # fmt: skip
    assert {(text.thread_id, text.ordinal) for text in found.texts[1:]} == {("conversation-1", n) for n in (0, 1)}
    assert found.questions == (
        Question("q", "conv-1", "Who?", {"D1:1": 1}, "conv-1", "4 single-hop"),
        Question("q5", "conv-1", "Who?", {"D1:1": 1}, "conv-1", "5 adversarial", apart=True),
    )
    assert found.remarks == ("3 questions whose evidence names no turn",)


def test_judgements_of_queries_that_are_not_there_are_told(tmp_path: Path) -> None:
    write_beir(tmp_path, TEXTS)
    with (tmp_path / "qrels-dev.tsv").open("a") as file:
        file.write("gone\t1\t1\nlost\t1\t1\nlost\t2\t0\n")
    assert read("scifact", tmp_path).remarks == ("2 queries that qrels-dev.tsv judges and queries-dev.jsonl lacks",)


@pytest.mark.parametrize("name", ["locomo", "longmemeval", "scifact"])
def test_a_file_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"locomo10-dev\.json|sessions-dev\.jsonl\.gz|corpus\.jsonl\.gz"):
        read(name, tmp_path)


def test_beam_keeps_chats_apart_and_its_unanswerable_questions_aside(tmp_path: Path) -> None:
    message = {"chat": "c1", "id": 4, "role": "user", "batch": 2, "time_anchor": "2024-03-15", "text": "Hello"}
    write_lines(tmp_path / "messages-100k.jsonl.gz", [message])
    line = {"chat": "c1", "qid": "q", "ability": "recall", "question": "Who?", "evidence": [4], "answerable": True}
    lacking = {**line, "qid": "a", "evidence": [], "answerable": False}
    write_lines(tmp_path / "questions-100k.jsonl.gz", [line, {**line, "evidence": []}, lacking])
    found = read("beam", tmp_path)
    assert found.texts == (Text("4", "c1", "Hello", "", "c1-2", 4, "2024-03-15", "user"),)
    assert found.questions == (Question("q", "c1", "Who?", {"4": 1}, "c1", "recall"),)
    assert [each.id for each in found.unanswered] == ["a"]


def test_locomo_plus_asks_for_the_cue_of_each_trigger(tmp_path: Path) -> None:
    turn = {
        "conv": "conv-1", "session": "P1", "ordinal": 0, "when": "1:56 pm on 8 May, 2023", "id": "P1:1",
        "captured_at": "2023-05-08T13:56", "speaker": "Ada", "text": "Hello",
    }  # fmt: skip
    write_lines(tmp_path / "turns.jsonl.gz", [turn])
    pair = {"pair": 1, "conv": "conv-1", "relation": "goal", "question": "Still here.", "evidence": ["P1:1"]}
    write_lines(tmp_path / "pairs.jsonl.gz", [pair])
    found = read("locomo-plus", tmp_path)
    said = "[1:56 pm on 8 May, 2023] Ada: Hello"
    assert found.texts == (Text("P1:1", "conv-1", said, "", "conv-1-P1", 0, "2023-05-08T13:56", "Ada"),)
    assert found.questions == (Question("1", "conv-1", "Still here.", {"P1:1": 1}, "conv-1", "goal"),)


@pytest.fixture
def longmemeval(tmp_path: Path) -> Path:
    sessions = [{"session_id": "s1", "user_turns": ["Hello", "Bye"]}, {"session_id": "s2", "user_turns": ["Yes"]}]
    write_lines(tmp_path / "sessions-dev.jsonl.gz", sessions)
    line = {
        "question_id": "q", "question_type": "temporal", "question": "When?", "answer_session_ids": ["s1"],
        "haystack_session_ids": ["s2", "s1"], "abstention": False,
    }  # fmt: skip
    other = {**line, "question_id": "a", "question_type": "single-session-assistant", "haystack_session_ids": ["s1"]}
    write_lines(tmp_path / "questions-dev.jsonl.gz", [line, other, {**line, "abstention": True}])
    return tmp_path


def test_longmemeval_gives_each_question_its_haystack_and_leaves_abstention_out(longmemeval: Path) -> None:
    found = read("longmemeval", longmemeval)
    assert [(text.haystack, text.id) for text in found.texts] == [("q", "s2"), ("q", "s1"), ("a", "s1")]
    assert found.texts[1].content == "Hello\nBye"
    assert [(question.id, question.apart) for question in found.questions] == [("q", False), ("a", True)]
    assert found.aim == Aim("recall@5", 0.92, 0.96)


def test_longmemeval_pooled_has_one_haystack(longmemeval: Path) -> None:
    found = read("longmemeval-pooled", longmemeval)
    assert [(text.haystack, text.id) for text in found.texts] == [("", "s1"), ("", "s2")]
    assert {question.haystack for question in found.questions} == {""}
    assert found.aim == Aim("recall@10", 0.85, 0.90)
    # What asks for an abstention names the sessions that it is near to: they are no answer.
    assert [(question.text, question.grades) for question in found.unanswered] == [("When?", {})]


def collection(door: str) -> Collection:
    texts = tuple(Text(str(n), haystack, f"text {n}", "name") for haystack in "ab" for n in range(50))
    questions = tuple(Question(f"{h}{n}", h, "?", {str(n): 1}) for h in "ab" for n in range(5))
    return Collection("sample", "document", door, texts, questions, Aim("recall@10"))  # type: ignore[arg-type]


def test_a_sample_of_documents_keeps_what_is_judged_and_is_the_same_each_time() -> None:
    whole = collection("search")
    found = whole.sample(1)
    assert found == whole.sample(1)
    assert found.digest() == whole.sample(1).digest() != whole.digest()
    kept = {(text.haystack, text.id) for text in found.texts}
    assert all((question.haystack, text_id) in kept for question in found.questions for text_id in question.grades)
    assert len(found.texts) == 21
    assert found.is_sample
    assert not whole.is_sample


def test_a_sample_of_memories_keeps_few_haystacks_and_those_whole() -> None:
    whole = collection("recall")
    found = whole.sample(4)
    assert (len(found.questions), len(found.texts)) == (4, 50)
    assert len({question.haystack for question in found.questions}) == 1
    assert whole.sample(10) is whole
