"""The encoder for late interaction: its rows, what is similar by them, threads, loading, and where the file is from."""

import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stores.embedding import EmbeddingFailed
from stores.embedding.late import PASSAGE_MARKER, QUESTION_MARKER, LateEncoder, packed, unpacked
from stores.embedding.shipped import LATE_MODEL_FILE, SHA256, load_tokenizer

QUESTION = "Where do we keep the retry policy?"
PASSAGES = [
    "Retries use exponential backoff with jitter; the policy is in config/retry.toml.",
    "We decided to keep invoices for ten years.",
    "A cat sits on the mat.",
    "The database ran out of disk space.",
]


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
    assert rows.shape == (len(load_tokenizer().pieces(QUESTION).spans) + 3, late.dimension)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_passage_has_rows_of_bytes_that_are_read_as_vectors_of_about_unit_length(late: LateEncoder) -> None:
    rows = late.encode_passage(PASSAGES[0])
    assert rows.dtype == np.int8
    assert rows.shape == (len(load_tokenizer().pieces(PASSAGES[0]).spans) + 3, late.width)
    np.testing.assert_allclose(np.linalg.norm(unpacked(rows), axis=1), 1, atol=0.05)


def test_half_a_byte_tells_a_number_to_half_a_step() -> None:
    numbers = np.linspace(-0.24, 0.24, 24_960, dtype=np.float32).reshape(-1, LateEncoder.dimension)
    assert packed(numbers).shape == (len(numbers), LateEncoder.width)
    step = np.unique(unpacked(packed(numbers)))
    assert len(step) == 16
    assert np.abs(unpacked(packed(numbers)) - numbers).max() <= np.diff(step).max() / 2 + 1e-6


def test_numbers_beyond_the_steps_are_cut_off() -> None:
    far = np.array([[1, -1] * (LateEncoder.dimension // 2)], np.float32)
    read = unpacked(packed(far))
    assert (read[:, ::2] == read.max()).all()
    assert (read[:, 1::2] == read.min()).all()
    assert read.max() == -read.min()


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


def test_a_closed_encoder_says_so() -> None:
    encoder = LateEncoder()
    encoder.encode_question("loaded")
    encoder.close()
    with pytest.raises(EmbeddingFailed, match="closed"):
        encoder.encode_question("anything")
    with pytest.raises(EmbeddingFailed, match="closed"):
        encoder.encode_passage("anything")


def test_a_damaged_model_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHA256, LATE_MODEL_FILE, "0" * 64)
    with pytest.raises(EmbeddingFailed, match=r"answerai-colbert-small-v1-int8-128\.onnx is not the file") as failure:
        LateEncoder().encode_question("anything")
    assert "Install engrain again" in failure.value.remediation


def test_the_markers_are_words_that_no_text_has() -> None:
    vocabulary = files("stores").joinpath("models", "vocab.txt").read_text(encoding="utf-8").split("\n")
    assert [vocabulary[marker] for marker in (QUESTION_MARKER, PASSAGE_MARKER)] == ["[unused0]", "[unused1]"]
    assert not {QUESTION_MARKER, PASSAGE_MARKER} & set(load_tokenizer().model_input("[unused0] [unused1]"))


def test_the_notice_says_where_the_file_is_from_and_that_this_was_not_verified() -> None:
    notice = " ".join(files("stores").joinpath("models", "NOTICE").read_text().split())
    assert f"{LATE_MODEL_FILE} is derived from" in notice
    assert "answerdotai/answerai-colbert-small-v1" in notice
    assert "NOT compared with that publication" in notice


@pytest.fixture(scope="module")
def published() -> bytes:
    build_late_model = pytest.importorskip("scripts.build_late_model", reason="the `model` extra is not installed")
    wheel = build_late_model.find_wheel(build_late_model.WHEELS)
    if wheel is None:
        pytest.skip("no published file in .build: scripts/build_late_model.py puts it there")
    source: bytes = build_late_model.read_member(wheel, build_late_model.MEMBER)
    return source


@pytest.mark.slow
def test_the_shipped_file_is_what_the_script_makes(published: bytes, tmp_path: Path) -> None:
    from scripts.build_late_model import BASIS, build

    assert build(published, np.load(BASIS), tmp_path) == SHA256[LATE_MODEL_FILE]


@pytest.mark.slow
def test_another_file_is_no_source(tmp_path: Path) -> None:
    build_late_model = pytest.importorskip("scripts.build_late_model", reason="the `model` extra is not installed")
    with pytest.raises(ValueError, match="not the published weights"):
        build_late_model.build(b"another", np.load(build_late_model.BASIS), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_rows_agree_with_the_published_file(late: LateEncoder, published: bytes) -> None:
    import onnxruntime

    from scripts.build_late_model import BASIS

    session = onnxruntime.InferenceSession(published, providers=["CPUExecutionProvider"])
    tokenizer, basis = load_tokenizer(), np.load(BASIS)
    for text in [QUESTION, *PASSAGES]:
        first, *rest = tokenizer.model_input(text)
        ids = np.array([[first, QUESTION_MARKER, *rest]])
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        expected = session.run(["last_hidden_state"], inputs)[0][0] @ basis
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        cosines = (late.encode_question(text) * expected).sum(axis=1)
        # Integers that are rounded the other way after one layer change what follows: 8 bits are that coarse.
        assert cosines.mean() >= 0.99
        assert cosines.min() >= 0.95
