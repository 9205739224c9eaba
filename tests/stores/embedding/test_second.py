"""The second model for meaning, and the reader that has both models: offline, exact to reproduce, kept in bytes."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.embedding import EmbeddingFailed
from stores.embedding.close import CloseReader
from stores.embedding.second import SecondModel, cosines
from stores.embedding.shipped import SECOND_MODEL_FILE, SHA256, load_tokenizer

QUESTION = "Does taking aspirin every day lower the risk of a heart attack?"
PASSAGES = [
    "Among adults with diabetes, low-dose acetylsalicylic acid prevented serious vascular events.",
    "The canteen serves noodles on Thursday, and soup on every other day of the week.",
    "A daily standup was moved to nine, since half of the team had been late.",
]


@pytest.fixture(scope="module")
def second() -> Iterator[SecondModel]:
    model = SecondModel()
    yield model
    model.close()


def test_a_question_has_one_vector_of_unit_length(second: SecondModel) -> None:
    vector = second.embed_question(QUESTION)
    assert vector.shape == (SecondModel.dimension,)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_a_passage_is_kept_in_bytes_that_are_as_near_as_what_they_were_made_of(second: SecondModel) -> None:
    question = second.embed_question(QUESTION)
    kept = np.stack([second.embed_passage(passage) for passage in PASSAGES])
    assert kept.dtype == np.int8
    exact = np.stack([second.embed_question(passage) for passage in PASSAGES]) @ question
    assert cosines(question, kept) == pytest.approx(exact, abs=0.005)


def test_what_answers_in_other_words_is_the_nearest(second: SecondModel) -> None:
    near = cosines(second.embed_question(QUESTION), np.stack([second.embed_passage(each) for each in PASSAGES]))
    assert near.argmax() == 0
    assert near[0] > near[1:].max() + 0.05


@given(st.text(max_size=300))
def test_any_string_has_a_vector(second: SecondModel, text: str) -> None:
    vector = second.embed_passage(text)
    assert vector.shape == (SecondModel.dimension,)
    assert np.abs(vector.astype(int)).max() <= 127


def test_what_is_over_254_tokens_is_cut_off(second: SecondModel) -> None:
    read = second.embed_passage("word " * 254)
    np.testing.assert_array_equal(read, second.embed_passage("word " * 254 + "never read " * 10_000))


def test_a_reader_keeps_of_a_passage_what_either_model_makes_of_it(second: SecondModel) -> None:
    reader = CloseReader()
    found = reader.encode_passage(PASSAGES[0])
    np.testing.assert_array_equal(found.sentence, second.embed_passage(PASSAGES[0]))
    np.testing.assert_array_equal(found.tokens, reader.late.encode_passage(PASSAGES[0]))
    assert found.nbytes == found.tokens.nbytes + SecondModel.dimension
    assert reader.dimension == SecondModel.dimension
    assert SecondModel.model in reader.model
    reader.close()
    for read in (reader.encode_passage, reader.read_question):
        with pytest.raises(EmbeddingFailed, match="closed"):
            read("anything")


def test_a_reader_without_the_second_model_keeps_tokens_alone_under_another_name() -> None:
    reader = CloseReader(twice=False)
    found = reader.encode_passage(PASSAGES[0])
    assert found.sentence.shape == (reader.dimension,) == (0,)
    assert len(found.tokens) > 10
    assert reader.model == reader.late.model != CloseReader().model
    reader.read_question("works")
    reader.close()


def test_a_second_model_that_is_not_asked_reads_nothing_and_what_it_read_before_stays_of_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SHA256, SECOND_MODEL_FILE, "0" * 64)  # It could not be loaded.
    reader = CloseReader(asks_second=False)
    reader.read_question("works")
    found = reader.encode_passage(PASSAGES[0])
    assert found.sentence.shape == (0,)
    np.testing.assert_array_equal(found.tokens, reader.late.encode_passage(PASSAGES[0]))
    asked = CloseReader()
    assert (reader.model, reader.dimension) == (asked.model, asked.dimension)
    assert (reader.is_asked_twice, asked.is_asked_twice) == (False, True)
    reader.close()


def test_a_damaged_model_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHA256, SECOND_MODEL_FILE, "0" * 64)
    with pytest.raises(EmbeddingFailed, match=r"bge-small-en-int8\.onnx is not the file") as failure:
        SecondModel().embed_question("anything")
    assert "Install engrain again" in failure.value.remediation


def test_the_notice_says_where_the_file_is_from_and_that_this_was_not_verified() -> None:
    notice = " ".join(files("stores").joinpath("models", "NOTICE").read_text().split())
    said = notice[notice.index(f"{SECOND_MODEL_FILE} is derived from") :]
    assert "BAAI/bge-small-en-v1.5" in said
    assert "NOT compared with either publication" in said
    assert "Permission is hereby granted, free of charge" in said


@pytest.fixture(scope="module")
def published() -> bytes:
    script = pytest.importorskip("scripts.build_second_model", reason="the `model` extra is not installed")
    wheel = script.find_wheel()
    if wheel is None:
        pytest.skip("no published file in .build: scripts/build_second_model.py puts it there")
    source: bytes = script.read_source(wheel, script.MEMBER)
    return source


@pytest.mark.slow
def test_the_shipped_file_is_what_the_script_makes(published: bytes, tmp_path: Path) -> None:
    from scripts.build_second_model import build

    assert build(published, tmp_path) == SHA256[SECOND_MODEL_FILE]


@pytest.mark.slow
def test_vectors_agree_with_the_published_file(second: SecondModel, published: bytes) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(published, providers=["CPUExecutionProvider"])
    for text in [QUESTION, *PASSAGES]:
        ids = np.array([load_tokenizer().model_input(text)])
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        expected = session.run(["last_hidden_state"], inputs)[0][0, 0]
        assert second.embed_question(text) @ expected / np.linalg.norm(expected) > 0.99
