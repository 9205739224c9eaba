"""Candidates that say alike things: the arithmetic, and what a search makes of it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from stores.lexical import LexicalHits, LexicalResult
from stores.vectors import DenseHit, DenseHits, VectorIndex
from stores.vectors.passages import Vector
from tests.people import Person
from tests.stores.vectors.test_index import DIMENSION, opened, record, state
from tools.app import App
from tools.retrieval.evidence import MOST_SIMILAR, alike, diversified
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import Alike, Scores, Signals, ThreadContext, fuse
from tools.runtime.settings import Settings

anyio = pytest.mark.anyio
CEILING = 10.0


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False)


@pytest.fixture
def app(own_app: App) -> App:
    return own_app


@pytest.fixture
def vectors(tmp_path: Path) -> Iterator[VectorIndex]:
    index = opened(tmp_path)
    yield index
    index.close()


def scored(words: Sequence[float], signals: Signals) -> Scores:
    size = len(words)
    return fuse(np.array(words), np.full(size, 0.3), np.full(size, 0.4), ceiling=CEILING, dense=True, signals=signals)


def shares(*lines: Sequence[float]) -> Scores:
    return np.array(lines, np.float64)


def test_what_is_like_the_best_comes_before_what_is_like_nothing() -> None:
    words = [8.0, 4.0, 4.2]
    plain = scored(words, Signals())
    assert plain[2] > plain[1]
    together = Alike(np.arange(3), shares([0, 1, 0], [1, 0, 0], [0, 0, 1]))
    found = scored(words, Signals(alike=together))
    assert found[0] > found[1] > found[2]
    assert sorted(found) == sorted(plain), "the order changes, and no score comes about that was not there"


def test_what_was_not_held_against_others_stays_where_it_is() -> None:
    words = [8.0, 4.0, 4.2, 4.1]
    together = Alike(np.array([0, 1, 2]), shares([0, 1, 0], [1, 0, 0], [0, 0, 1]))
    assert scored(words, Signals(alike=together))[3] == scored(words, Signals())[3]


def test_an_exact_answer_stays_one_whatever_it_is_like() -> None:
    coverage, words = np.array([1.0, 0.2, 0.2]), np.array([9.0, 8.0, 8.0])
    away = Alike(np.arange(3), shares([0, 0.5, 0.5], [0, 0, 1], [0, 1, 0]))
    found = fuse(words, coverage, np.array([0.0, 0.9, 0.9]), ceiling=10.0, dense=True, signals=Signals(alike=away))
    assert found[0] >= 0.9
    near, coverage = np.array([1.65, 1.6, 1.6, 0.2]), np.array([1.0, 0.0, 0.0, 0.0])
    beside_a_bad_one = Alike(np.arange(4), shares([0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]))
    found = fuse(np.zeros(4), coverage, near, ceiling=10.0, dense=True, signals=Signals(alike=beside_a_bad_one))
    assert found[0] > found[1:].max()


class Everybody:
    def __init__(self, allowed: Collection[str]) -> None:
        self._allowed = allowed

    def found(self, record_ids: Collection[str]) -> set[str]:
        return {each for each in record_ids if each in self._allowed}


def pool_of(scores: Mapping[str, float]) -> Pool:
    nearest = DenseHits.of([DenseHit(each, score, 0, 9) for each, score in scores.items()])
    pool = Pool(LexicalResult(LexicalHits.of(()), 0.0, {}), nearest)
    pool.fused = np.array([*scores.values()])
    return pool


def held_against(
    vectors: VectorIndex, pool: Pool, allowed: Collection[str], context: ThreadContext | None = None
) -> Any:
    return alike(vectors, pool, range(len(pool.ids)), cast(Any, Everybody(allowed)), context)


def toward(*numbers: float) -> Vector:
    vector = np.zeros(DIMENSION, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.linalg.norm(vector)


def stored_as(monkeypatch: pytest.MonkeyPatch, index: VectorIndex, kept: Mapping[str, Vector]) -> None:
    monkeypatch.setattr("tests.stores.vectors.test_index.unit", lambda seed: [*kept.values()][seed])
    index.replace([record(each, seed) for seed, each in enumerate(kept)], [], state(1))


def test_each_takes_over_from_those_that_it_is_most_like(vectors: VectorIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {
        "a": toward(1, 0), "b": toward(1, 0.1), "c": toward(1, 0.2), "d": toward(1, 0.3), "e": toward(1, 0.4),
        "f": toward(1, 0.5), "apart": toward(0, 0, 1), "against": toward(0, 0, -1),
    }  # fmt: skip
    stored_as(monkeypatch, vectors, kept)
    pool = pool_of(dict.fromkeys([*kept, "without a vector"], 0.5))
    found = held_against(vectors, pool, [*kept, "without a vector"])
    ids = [pool.ids[place] for place in found.places]
    assert sorted(ids) == sorted(kept)
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)
    line = dict(zip(ids, found.shares[ids.index("a")], strict=True))
    assert {each for each, share in line.items() if share > 0} == {"b", "c", "d", "e"}
    assert line["b"] > line["c"] > line["e"]
    assert len(line) > MOST_SIMILAR
    for alone in ("apart", "against"):
        assert found.shares[ids.index(alone), ids.index(alone)] == 1, "what is like nothing keeps what it has"


def test_what_the_caller_may_not_read_lends_nothing(vectors: VectorIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    stored_as(monkeypatch, vectors, {each: toward(1, at) for at, each in enumerate("abc")})
    pool = pool_of(dict.fromkeys("abc", 0.5))
    found = held_against(vectors, pool, "ab")
    assert sorted(pool.ids[place] for place in found.places) == ["a", "b"]
    assert held_against(vectors, pool, "a") is None


def test_threaded_records_are_left_to_their_thread(vectors: VectorIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    stored_as(monkeypatch, vectors, {each: toward(1, at) for at, each in enumerate("abc")})
    pool = pool_of(dict.fromkeys("abc", 0.5))
    context = ThreadContext(np.array([each == "b" for each in pool.ids]), np.zeros(3))
    found = held_against(vectors, pool, "abc", context)
    assert sorted(pool.ids[place] for place in found.places) == ["a", "c"]


def test_in_threads_a_repetition_comes_after_something_new(
    vectors: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_as(monkeypatch, vectors, {"a": toward(1), "x": toward(1), "b": toward(1), "c": toward(0, 1), "d": toward(1)})
    pool = pool_of({"a": 0.7, "x": 0.69, "b": 0.68, "c": 0.66, "d": 0.3})
    pool.threaded = frozenset("abcd")
    order = diversified(vectors, pool, range(5), pool.fused)
    assert [pool.ids[place] for place in order] == ["a", "x", "c", "b", "d"], "x is in no thread and keeps its rank"


KITS = {
    "Spitfire": "How many model kits I have worked on: the first model kit was a Spitfire at 1/48, a gift of my uncle.",
    "Camaro": "Glued the hood of the 1969 Camaro at 1/24 today, the plastic scale car I bought at the hobby shop.",
    "Tiger": "Weathered the Tiger tank at 1/16 with pigments, my largest plastic scale build so far.",
}
OTHERS = {
    "Train": "I bought a ticket for the train, after hours of work.",
    "Bread": "The sourdough had to rise for two days before it went into the oven.",
    "Dentist": "The dentist moved my appointment to the end of March.",
    "Garden": "Tomatoes and beans grow along the south wall of the garden.",
    "Taxes": "The tax return is due in July, with receipts for the desk.",
}


@anyio
async def test_alike_memories_lift_each_other(app: App, owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in (KITS | OTHERS).items():
        await owner.call("create_entity", name=name, content=content, sync=True)

    async def order() -> list[str]:
        found = await owner.call("search", query="how many model kits have I worked on or bought")
        assert not found["filters"]["search_source_degraded"]
        return [each["name"] for each in found["results"]]

    assert set((await order())[:3]) == set(KITS)
    monkeypatch.setattr("tools.retrieval.evidence.alike", lambda *_: None)
    assert (await order())[2] == "Train", "which holds more words of the question than the kits do"
