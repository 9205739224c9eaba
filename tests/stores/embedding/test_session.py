"""Models on demand: loaded once whoever asks, never after closing."""

import threading

import pytest

from stores.embedding import EmbeddingFailed
from stores.embedding.session import OnDemand


def test_a_model_that_many_threads_ask_for_is_loaded_once() -> None:
    loaded: list[object] = []
    everybody = threading.Barrier(8)

    def load() -> object:
        loaded.append(object())
        return loaded[-1]

    model, found = OnDemand(load), []

    def ask() -> None:
        everybody.wait(10)
        found.append(model.get())

    asking = [threading.Thread(target=ask) for _ in range(8)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(10)
    assert found == loaded * 8


def test_what_fails_to_load_is_tried_again() -> None:
    attempts: list[int] = []

    def load() -> str:
        attempts.append(len(attempts))
        if len(attempts) == 1:
            raise EmbeddingFailed("The disk is away.")
        return "model"

    model = OnDemand(load)
    with pytest.raises(EmbeddingFailed, match="disk"):
        model.get()
    assert model.get() == "model"


def test_a_model_that_was_closed_is_not_loaded_again() -> None:
    model = OnDemand(lambda: "model")
    assert model.get() == "model"
    model.close()
    with pytest.raises(EmbeddingFailed, match="closed"):
        model.get()
