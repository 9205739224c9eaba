"""The built-in embedder: known similarities, independence of companions, threads, loading."""

import re
import threading
from collections.abc import Callable
from importlib.resources import files

import numpy as np
import pytest

from stores.embedding import EmbeddingFailed
from stores.embedding.builtin import BuiltinEmbedder, LateEncoder
from stores.embedding.shipped import LATE_MODEL_FILE, MODEL_FILE, SHA256
from stores.embedding.workers import Workers

SENTENCES = [
    "A cat sits on the mat.", "There is a kitten on the rug.", "The database ran out of disk space.",
    "Where do we keep the retry policy?", "Retries use exponential backoff with jitter.",
]  # fmt: skip

# Cosines of SENTENCES with the float32 weights.
FLOAT_SIMILARITIES = {(0, 1): 0.613, (0, 2): 0.036, (0, 3): -0.094, (1, 2): -0.004, (2, 3): 0.052, (3, 4): 0.348}


def test_similarities_are_those_of_the_published_weights(builtin: BuiltinEmbedder) -> None:
    vectors = builtin.embed_documents(SENTENCES)
    found = {(a, b): float(vectors[a] @ vectors[b]) for a, b in FLOAT_SIMILARITIES}
    assert found == pytest.approx(FLOAT_SIMILARITIES, abs=0.03)


def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(builtin: BuiltinEmbedder) -> None:
    together = builtin.embed_documents([*SENTENCES, "long " * 200])
    for row, sentence in zip(together, SENTENCES, strict=False):
        np.testing.assert_array_equal(row, builtin.embed_query(sentence))


def test_no_texts_give_no_rows(builtin: BuiltinEmbedder) -> None:
    assert builtin.embed_documents([]).shape == (0, builtin.dimension)


@pytest.mark.parametrize(
    "text",
    ["", " \n", "\x00", "😀", "한국어", "a\ud800b", "[PAD]"],
    ids=["empty", "space", "nul", "emoji", "hangul", "surrogate", "pad"],
)
def test_any_string_has_a_vector(builtin: BuiltinEmbedder, text: str) -> None:
    vector = builtin.embed_query(text)
    assert vector.shape == (builtin.dimension,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_what_is_over_256_tokens_is_cut_off(builtin: BuiltinEmbedder) -> None:
    read = "word " * 254
    np.testing.assert_array_equal(builtin.embed_query(read), builtin.embed_query(read + "never read " * 100_000))


def test_threads_change_nothing_but_the_time(builtin: BuiltinEmbedder) -> None:
    parallel = BuiltinEmbedder(Workers(2))
    try:
        np.testing.assert_array_equal(parallel.embed_documents(SENTENCES), builtin.embed_documents(SENTENCES))
    finally:
        parallel.close()


def test_queries_are_answered_while_documents_are_embedded(builtin: BuiltinEmbedder) -> None:
    expected = builtin.embed_query(SENTENCES[0])
    documents = threading.Thread(target=builtin.embed_documents, args=(SENTENCES * 20,))
    documents.start()
    answered = 0
    while documents.is_alive():
        np.testing.assert_array_equal(builtin.embed_query(SENTENCES[0]), expected)
        answered += 1
    assert answered > 1


@pytest.mark.parametrize(
    ("make", "asked"),
    [(BuiltinEmbedder, "embed_query"), (LateEncoder, "encode_question"), (LateEncoder, "encode_passage")],
)
def test_a_closed_model_says_so(make: type[BuiltinEmbedder | LateEncoder], asked: str) -> None:
    model = make()
    model.close()
    with pytest.raises(EmbeddingFailed, match="closed"):
        getattr(model, asked)("anything")


def test_closing_amid_documents_ends_in_rows_or_a_clear_error() -> None:
    embedder = BuiltinEmbedder(Workers(2))
    embedder.embed_query("loaded")
    outcomes: list[object] = []

    def embed() -> None:
        try:
            while True:
                outcomes.append(len(embedder.embed_documents(SENTENCES)))
        except EmbeddingFailed as error:
            outcomes.append(error.message)

    working = threading.Thread(target=embed)
    working.start()
    while not outcomes:
        working.join(0.01)
    embedder.close()
    working.join(10)
    assert outcomes[-1] == "The embedder is closed."
    assert set(outcomes[:-1]) == {len(SENTENCES)}


@pytest.mark.parametrize(
    ("ask", "file"),
    [(lambda: BuiltinEmbedder().embed_query("x"), MODEL_FILE),
     (lambda: LateEncoder().encode_question("x"), LATE_MODEL_FILE)],
)  # fmt: skip
def test_a_damaged_model_file_is_named(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], object], file: str) -> None:
    monkeypatch.setitem(SHA256, file, "0" * 64)
    with pytest.raises(EmbeddingFailed, match=rf"{re.escape(file)} is not the file") as failure:
        ask()
    assert "Install engrain again" in failure.value.remediation


def test_the_model_ships_with_its_licence_and_origin() -> None:
    folder = files("stores").joinpath("models")
    assert "Apache License" in folder.joinpath("LICENSE").read_text()
    assert "all-MiniLM-L6-v2" in folder.joinpath("NOTICE").read_text()
