"""The encoder for late interaction: its rows, what is similar by them, threads, loading, and where the file is from."""

import threading
from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from stores.embedding.builtin import PASSAGE_MARKER, QUESTION_MARKER, LateEncoder, packed, unpacked
from stores.embedding.shipped import LATE_MODEL_FILE, load_tokenizer

QUESTION = "Where do we keep the retry policy?"
PASSAGES = [
    "Retries use exponential backoff with jitter; the policy is in config/retry.toml.",
    "We decided to keep invoices for ten years.", "A cat sits on the mat.", "The database ran out of disk space.",
]  # fmt: skip


@pytest.fixture(scope="module")
def late() -> Iterator[LateEncoder]:
    encoder = LateEncoder()
    yield encoder
    encoder.close()


def similarity(question: NDArray[np.float32], passage: NDArray[np.int8]) -> float:
    return float((question @ unpacked(passage).T).max(axis=1).mean())


def test_a_question_has_a_row_of_unit_length_for_each_token_and_three_more(late: LateEncoder) -> None:
    rows = late.encode_question(QUESTION)
    assert rows.dtype == np.float32
    assert rows.shape == (len(load_tokenizer().tokens(QUESTION).spans) + 3, late.dimension)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_passage_has_rows_of_bytes_that_are_read_as_vectors_of_about_unit_length(late: LateEncoder) -> None:
    rows = late.encode_passage(PASSAGES[0])
    assert rows.dtype == np.int8
    assert rows.shape == (len(load_tokenizer().tokens(PASSAGES[0]).spans) + 3, late.width)
    np.testing.assert_allclose(np.linalg.norm(unpacked(rows), axis=1), 1, atol=0.05)


def test_rows_that_are_kept_are_as_similar_as_those_they_were_made_of(late: LateEncoder) -> None:
    question = late.encode_question(QUESTION)
    for passage in PASSAGES:
        whole = late.encode_question(passage)
        assert abs(similarity(question, packed(whole)) - float((question @ whole.T).max(axis=1).mean())) < 0.01


def test_the_passage_that_answers_is_the_most_similar(late: LateEncoder) -> None:
    question = late.encode_question(QUESTION)
    answer, *others = (similarity(question, late.encode_passage(passage)) for passage in PASSAGES)
    assert answer > max(others) + 0.02


def test_a_word_is_compared_in_its_context(late: LateEncoder) -> None:
    question = late.encode_question("the bank of the river")
    water, money = "They sat on the bank and watched the boats.", "The bank raised its interest on loans."
    assert similarity(question, late.encode_passage(water)) > similarity(question, late.encode_passage(money))


def test_the_same_words_are_encoded_as_a_question_or_as_a_passage(late: LateEncoder) -> None:
    question, passage = late.encode_question(QUESTION), late.encode_passage(QUESTION)
    assert len(question) == len(passage)
    assert (packed(question) != passage).any()


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\x00", "😀", "한국어", "a\ud800b", "[PAD]", "[unused1]"],
    ids=["empty", "space", "nul", "emoji", "hangul", "surrogate", "pad", "marker"],
)
def test_any_string_has_rows(late: LateEncoder, text: str) -> None:
    rows = late.encode_question(text)
    assert len(rows) >= 3
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert len(late.encode_passage(text)) == len(rows)


def test_what_is_over_254_tokens_is_cut_off(late: LateEncoder) -> None:
    read = late.encode_passage("word " * 254)
    assert read.shape == (257, late.width)
    np.testing.assert_array_equal(read, late.encode_passage("word " * 254 + "never read " * 100_000))


def test_threads_load_one_model_and_have_the_rows_that_one_thread_has(late: LateEncoder) -> None:
    shared, found = LateEncoder(), {}

    def encode(number: int) -> None:
        found[number] = shared.encode_passage(PASSAGES[number % len(PASSAGES)])

    working = [threading.Thread(target=encode, args=(number,)) for number in range(8)]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join(60)
    shared.close()
    for number in range(8):
        np.testing.assert_array_equal(found[number], late.encode_passage(PASSAGES[number % len(PASSAGES)]))


def test_the_markers_are_words_that_no_text_has() -> None:
    vocabulary = files("stores").joinpath("models", "vocab.txt").read_text(encoding="utf-8").split("\n")
    assert [vocabulary[marker] for marker in (QUESTION_MARKER, PASSAGE_MARKER)] == ["[unused0]", "[unused1]"]
    assert not {QUESTION_MARKER, PASSAGE_MARKER} & set(load_tokenizer().model_input("[unused0] [unused1]"))


def test_the_notice_says_where_the_file_is_from_and_that_this_was_not_verified() -> None:
    notice = " ".join(files("stores").joinpath("models", "NOTICE").read_text().split())
    assert f"{LATE_MODEL_FILE} is derived from" in notice
    assert "answerdotai/answerai-colbert-small-v1" in notice
    assert "NOT compared with that publication" in notice
