"""Token by token: the arithmetic, and what a search makes of it."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stores.embedding.builtin import LateEncoder, packed, unpacked
from stores.errors import ValidationFailed
from tests.people import Person, tokens_made
from tools.app import App
from tools.retrieval.late_interaction import best_matches
from tools.retrieval.scoring import BACKGROUND, Scores, Signals, ThreadContext, fuse
from tools.runtime.settings import Settings

anyio = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False)


@pytest.fixture
def app(own_app: App) -> App:
    return own_app


def units(count: int, seed: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((count, LateEncoder.dimension)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@pytest.mark.parametrize("records", [[(1,)], [(3, 700), (1,)], [(254, 254, 9), (5,), (40, 40)]])
def test_each_token_of_a_question_has_its_best_match_in_the_best_passage_of_a_record(
    records: list[tuple[int, ...]],
) -> None:
    question = units(17, 1)
    passages = [[packed(units(size, 10 * at + size)) for size in sizes] for at, sizes in enumerate(records)]
    found, anywhere, asked = best_matches(question, passages)
    assert found.shape == (len(records), 17)
    for best, of_any, of_tokens, each in zip(found, anywhere, asked, passages, strict=True):
        of_passages = [question @ unpacked(tokens).T for tokens in each]
        wanted = max(of_passages, key=lambda cosines: float(cosines.max(axis=1).mean()))
        np.testing.assert_allclose(best, wanted.max(axis=1), atol=1e-5)
        np.testing.assert_allclose(of_tokens, wanted.max(axis=0).mean(), atol=1e-5)
        np.testing.assert_allclose(of_any, np.max([each.max(axis=1) for each in of_passages], axis=0), atol=1e-5)


def test_a_better_match_lifts_a_record_and_a_worse_one_lowers_it() -> None:
    same, ceiling = np.full(3, 2.0), 10.0
    late = np.array([0.05, 0.0, -0.05])
    scores = fuse(
        same, np.full(3, 0.3), np.full(3, 0.4), ceiling=ceiling, dense=True, signals=Signals(token_match=late)
    )
    plain = fuse(same, np.full(3, 0.3), np.full(3, 0.4), ceiling=ceiling, dense=True)
    assert scores[0] > scores[1] > scores[2]
    assert scores[1] == plain[1]


def test_in_threads_the_match_decides_the_order_and_the_scores_stay() -> None:
    words, ceiling, near = np.array([6.0, 4.0, 2.0, 1.0]), 10.0, np.full(4, 0.4)
    late = np.array([-0.04, 0.04, 0.0, 0.02])
    context = ThreadContext(np.array([True, True, True, False]), np.zeros(4))

    def scores(matches: Scores) -> Scores:
        return fuse(words, np.full(4, 0.3), near, ceiling=ceiling, dense=True, signals=Signals(context, matches))

    plain, found = scores(late / 1e6), scores(late)
    assert plain[0] > plain[1]
    assert found[1] > found[0]
    outside = fuse(words, np.full(4, 0.3), near, ceiling=ceiling, dense=True, signals=Signals(token_match=late))
    assert found[2] == plain[2], "what was not compared stays where it is"
    assert found[3] == outside[3], "and so does what stands in no thread"
    kept = ThreadContext(np.zeros(4, np.bool_), np.zeros(4))
    assert max(found) < max(
        fuse(words, np.full(4, 0.3), near, ceiling=ceiling, dense=True, signals=Signals(kept, 8 * late))
    )


def test_in_threads_what_is_said_by_whom_the_question_asks_about_comes_first() -> None:
    late, words = np.array([0.03, 0.02, 0.0, 0.03]), np.full(4, 4.0)
    said_by_them = np.array([False, True, True, False])

    def scores(context: ThreadContext, matches: Scores = late) -> Scores:
        return fuse(
            words, np.full(4, 0.3), np.full(4, 0.4), ceiling=10.0, dense=True, signals=Signals(context, matches)
        )

    threaded = np.array([True, True, True, False])
    plain, found = (
        scores(ThreadContext(threaded, np.zeros(4))),
        scores(ThreadContext(threaded, np.zeros(4), said_by_them)),
    )
    assert plain[0] > plain[1]
    assert found[1] > found[0]
    assert sorted(found) == sorted(plain), "the order changes, and no score comes about that was not there"
    assert found[2] == plain[2], "what was not compared stays where it is"
    assert found[3] == plain[3], "and so does what stands in no thread"
    much_better = scores(ThreadContext(threaded, np.zeros(4), said_by_them), np.array([0.08, 0.02, 0.0, 0.03]))
    assert much_better[0] > much_better[1], "who says it is not all that counts"


def test_what_holds_every_word_stays_an_exact_answer() -> None:
    late = np.array([-2.0])
    (score,) = fuse(
        np.array([9.0]), np.array([1.0]), np.array([0.5]), ceiling=9.0, dense=True, signals=Signals(token_match=late)
    )
    assert score >= 0.9


def test_in_code_nearness_tells_more_and_words_and_tokens_less() -> None:
    far, none, some = np.full(2, 0.1), np.zeros(2), np.full(2, 0.4)
    signals = Signals(is_code=np.array([True, False]))

    def code_and_prose(words: Scores, near: Scores, signals: Signals = signals) -> tuple[float, float]:
        code, prose = fuse(words, words / 10, near, ceiling=10.0, dense=True, signals=signals)
        return float(code), float(prose)

    code, prose = code_and_prose(none, some)
    assert code > prose
    code, prose = code_and_prose(np.full(2, 8.0), far)
    assert code < prose
    code, prose = code_and_prose(none, np.full(2, BACKGROUND))
    assert code == prose, "what is no nearer than unrelated texts"
    matched = replace(signals, token_match=np.full(2, 0.05))
    same = np.array([0.4, 0.5])
    some_words = np.full(2, 4.0)
    rises = np.subtract(code_and_prose(some_words, same, matched), code_and_prose(some_words, same))
    assert 0 < rises[0] < rises[1]
    threaded = replace(matched, context=ThreadContext(np.array([True, False]), np.zeros(2)))
    as_prose = replace(threaded, is_code=None)
    assert code_and_prose(none, some, threaded) == code_and_prose(none, some, as_prose), "a thread's weights come first"


TEXTS = {
    "Outage": "The sign-in page answered with error 500 because the session store had run out of memory.",
    "Repair": "Mira restarted the session store at noon, and people could log in again.",
    "Menu": "The canteen serves noodles on Thursday, and soup on every other day of the week.",
}


async def stored(who: Person) -> None:
    for name, content in TEXTS.items():
        await who.call("create_entity", name=name, content=content, sync=True)
    await tokens_made(who)


def damage(app: App, person: Person, statement: str) -> None:
    with app.indexer.indexes(person.organization_id) as indexes:
        assert indexes.vectors is not None
        assert indexes.vectors.tokens is not None
        connection = indexes.vectors.tokens._writer
        assert connection is not None
        with connection:
            connection.execute(statement)


@anyio
async def test_a_search_compares_the_tokens_of_its_candidates(app: App, owner: Person) -> None:
    await stored(owner)
    with app.indexer.indexes(owner.organization_id) as indexes:
        assert indexes.vectors is not None
        assert indexes.vectors.tokens is not None
        assert len(indexes.vectors.tokens.contents()) >= len(TEXTS)
    found = await owner.call("search", query="who made logging in work again")
    assert found["results"][0]["name"] == "Repair"
    assert not found["filters"]["search_source_degraded"]


@anyio
async def test_vectors_of_an_impossible_size_are_damage_and_made_anew(app: App, owner: Person) -> None:
    await stored(owner)
    damage(app, owner, "UPDATE passages SET vectors = substr(vectors, 1, 100)")
    found = await owner.call("search", query="who made logging in work again")
    assert {each["name"] for each in found["results"]} >= {"Repair"}
    assert found["filters"]["search_source_failures"] == [{"source": "tokens", "error_type": "index_unavailable"}]
    await owner.call("create_entity", name="Later", content="One more thing.", sync=True)
    await tokens_made(owner)
    found = await owner.call("search", query="who made logging in work again")
    assert found["results"][0]["name"] == "Repair"
    assert not found["filters"]["search_source_degraded"]


@anyio
@pytest.mark.parametrize("query", ["", "   ", "\u200b", "?" * 3_000, "ß" * 500, "\ud800"])
async def test_any_question_can_be_asked(owner: Person, query: str) -> None:
    await stored(owner)
    with suppress(ValidationFailed):
        await owner.call("search", query=query)
