"""The second model for meaning: the arithmetic, and what a search makes of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stores import processor
from stores.embedding import Embedder, EmbeddingFailed
from stores.embedding.second import SecondModel
from tests.people import Person, person
from tests.stores.indexer.samples import until
from tools.app import App, open_app
from tools.health import readiness
from tools.logs import LogRing
from tools.retrieval import late, second
from tools.retrieval.parts import NO_SECOND_OPINION
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import SECOND, SECOND_SPREAD, Beside, Lent, Scores, fuse
from tools.settings import Settings

anyio = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, second_opinion="on")


@pytest.fixture
def app(own_app: App) -> App:
    return own_app


def scores(near: Scores, lent: Lent) -> Scores:
    nothing = np.zeros(len(near))
    return fuse(nothing, nothing, near, ceiling=10.0, dense=True, lent=lent)


def test_it_tells_a_part_of_how_near_each_is_and_on_average_they_stay_as_near() -> None:
    near, told = np.array([0.4, 0.4, 0.4, 0.3]), np.array([0.8, 0.7, 0.75, np.nan])
    plain, found = scores(near, Lent()), scores(near, Lent(second=told))
    assert found[0] > found[2] > found[1]
    assert found[2] == plain[2] == pytest.approx(found[:2].mean())
    assert found[3] == plain[3], "of what it was not asked it tells nothing"
    # Evidence to score is straight there: the first point is at 0, the second at .6 and .3.
    assert found[0] - plain[0] == pytest.approx(SECOND * SECOND_SPREAD * 0.05 / 2)


def test_where_the_models_differ_both_count() -> None:
    near, told = np.array([0.5, 0.3, 0.4, 0.4]), np.array([0.7, 0.8, 0.7, 0.7])
    plain, found = scores(near, Lent()), scores(near, Lent(second=told))
    assert plain[0] > plain[2] > plain[1]
    assert found[0] - found[1] < plain[0] - plain[1]
    assert found[1] > plain[1]


def test_in_code_it_tells_less() -> None:
    near, told = np.full(4, 0.4), np.array([0.8, 0.7, 0.8, 0.7])
    is_code = np.array([True, True, False, False])
    plain, found = scores(near, Lent(is_code=is_code)), scores(near, Lent(second=told, is_code=is_code))
    assert 0 < found[0] - plain[0] < found[2] - plain[2]


def test_one_that_is_known_alone_stays_as_it_is() -> None:
    near = np.array([0.4, np.nan, 0.2])
    for told in ([0.9, np.nan, np.nan], [np.nan, 0.3, np.nan]):
        assert list(scores(near, Lent(second=np.array(told)))) == pytest.approx(list(scores(near, Lent())))


TEXTS = {
    "Outage": "The sign-in page answered with error 500 because the session store had run out of memory.",
    "Repair": "Mira restarted the session store at noon, and people could log in again.",
    "Menu": "The canteen serves noodles on Thursday, and soup on every other day of the week.",
}
QUESTION = "who made logging in work again"


async def stored(who: Person) -> dict[str, str]:
    made = {
        name: await who.call("create_entity", name=name, content=content, sync=True) for name, content in TEXTS.items()
    }
    return {each["id"]: name for name, each in made.items()}


def texts_read(monkeypatch: pytest.MonkeyPatch, method: str) -> list[str]:
    """What the model is given to read by one of its methods, which does what it does."""
    read, as_it_is = list[str](), getattr(SecondModel, method)

    def noted(self: SecondModel, text: str) -> Any:
        read.append(text)
        return as_it_is(self, text)

    monkeypatch.setattr(SecondModel, method, noted)
    return read


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """How near each candidate was by the second model, once for each search that asked it."""
    seen: list[dict[str, float]] = []
    as_it_is = second.nearness

    def noted(indexes: Any, pool: Pool, *rest: Any) -> Any:
        found = as_it_is(indexes, pool, *rest)
        seen.append({} if found is None else dict(zip(pool.ids, found.tolist(), strict=True)))
        return found

    monkeypatch.setattr(second, "nearness", noted)
    return seen


@anyio
async def test_a_search_asks_it_how_near_the_candidates_are(owner: Person, asked: list[dict[str, float]]) -> None:
    names = await stored(owner)
    found = await owner.call("search", query=QUESTION)
    assert found["results"][0]["name"] == "Repair"
    near = {names[record_id]: cosine for record_id, cosine in asked[-1].items() if record_id in names}
    model = SecondModel()
    question = model.embed_question(QUESTION)
    # The text of a record begins with its name.
    exact = {name: float(question @ model.embed_question(f"{name}\n{content}")) for name, content in TEXTS.items()}
    model.close()
    assert near == pytest.approx(exact, abs=0.005)


@anyio
async def test_what_stands_in_a_thread_is_not_asked_of_it(owner: Person, asked: list[dict[str, float]]) -> None:
    said = [
        await owner.call("store_raw_memory", raw_content=text, metadata=metadata, sync=True)
        for text, metadata in (
            ("The walrus went to Lisbon.", {"thread_id": "t", "ordinal": 1}),
            ("It stayed there for a week.", {"thread_id": "t", "ordinal": 2}),
            ("A walrus was seen in Lisbon.", {}),
        )
    ]
    await owner.call("recall", query="walrus in Lisbon")
    assert [np.isnan(asked[-1][each["id"]]) for each in said if each["id"] in asked[-1]] == [True, True, False]


@anyio
async def test_where_all_stands_in_threads_it_does_not_read_the_question(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = texts_read(monkeypatch, "embed_question")
    for ordinal, text in enumerate(("The walrus went to Lisbon.", "It stayed there for a week.")):
        await owner.call(
            "store_raw_memory", raw_content=text, metadata={"thread_id": "t", "ordinal": ordinal}, sync=True
        )
    await owner.call("recall", query="walrus in Lisbon")
    assert read == []
    # It holds none of the words, so that it is found by its meaning alone.
    await owner.call("store_raw_memory", raw_content="A sea mammal visited Portugal.", sync=True)
    await owner.call("recall", query="walrus in Lisbon")
    assert read == ["walrus in Lisbon"]


@anyio
async def test_what_is_not_shown_is_not_known(owner: Person, asked: list[dict[str, float]]) -> None:
    texts = ("The walrus went to Lisbon.", "A walrus was seen in Lisbon.", "The walrus of Lisbon has a friend.")
    said = [(await owner.call("store_raw_memory", raw_content=text, sync=True))["id"] for text in texts]
    await owner.call("review_capture", capture_id=said[0], review_state="archived")
    until(lambda: not any(line.pending for line in owner.app.indexer.status()))
    await owner.call("recall", query="walrus in Lisbon")
    assert [np.isnan(asked[-1].get(each, np.nan)) for each in said] == [True, False, False]


@anyio
@pytest.mark.parametrize(
    ("query", "question"),
    [
        ("what was known then", {"query": QUESTION, "as_of": "2100-01-01T00:00:00Z"}),
        ("other letters", {"query": "кто починил вход"}),
    ],
)
async def test_where_it_tells_nothing_it_is_not_asked(
    owner: Person, monkeypatch: pytest.MonkeyPatch, query: str, question: dict[str, Any]
) -> None:
    await stored(owner)
    read = list[str]()
    monkeypatch.setattr(SecondModel, "embed_question", lambda _, text: read.append(text))
    await owner.call("search", **question)
    assert read == [], query


@anyio
async def test_without_the_model_a_search_says_so_and_answers(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    await stored(owner)

    def broken(_: SecondModel, text: str) -> Any:
        raise EmbeddingFailed(f"not {text}")

    compared, compare = list[bool](), late.compare

    def noted(*given: Any) -> Any:
        found = compare(*given)
        compared.append(found is not None)
        return found

    monkeypatch.setattr(SecondModel, "embed_question", broken)
    monkeypatch.setattr(late, "compare", noted)
    found = await owner.call("search", query=QUESTION)
    assert compared == [True]
    assert {each["name"] for each in found["results"]} >= {"Repair"}
    assert found["filters"]["search_source_failures"] == [{"source": "tokens", "error_type": "index_unavailable"}]


@anyio
async def test_vectors_of_an_impossible_size_are_damage_and_made_anew(app: App, owner: Person) -> None:
    await stored(owner)
    with app.indexer.indexes(owner.organization_id) as indexes:
        assert indexes.vectors is not None
        assert indexes.vectors.tokens is not None
        connection = indexes.vectors.tokens._writer
        assert connection is not None
        with connection:
            connection.execute("UPDATE passages SET sentence = substr(sentence, 1, 100)")
    found = await owner.call("search", query=QUESTION)
    assert {each["name"] for each in found["results"]} >= {"Repair"}
    assert found["filters"]["search_source_failures"] == [{"source": "tokens", "error_type": "index_unavailable"}]
    await owner.call("create_entity", name="Later", content="One more thing.", sync=True)
    until(lambda: not any(line.pending for line in app.indexer.status()))
    found = await owner.call("search", query=QUESTION)
    assert found["results"][0]["name"] == "Repair"
    assert not found["filters"]["search_source_degraded"]


@anyio
@pytest.mark.parametrize(
    ("wanted", "instructions", "is_asked"),
    [
        ("auto", "avx2 fma", False),
        ("auto", "avx2 avx512f avx512_vnni", True),
        ("auto", "asimd asimddp", True),
        ("auto", None, True),
        ("on", "avx2 fma", True),
        ("off", "avx2 avx512_vnni", False),
    ],
)
async def test_it_is_asked_where_the_processor_is_made_for_it(
    owner: Person, monkeypatch: pytest.MonkeyPatch, wanted: str, instructions: str | None, *, is_asked: bool
) -> None:
    await stored(owner)
    read = texts_read(monkeypatch, "embed_question")
    flags = None if instructions is None else frozenset(instructions.split())
    monkeypatch.setattr(processor, "instructions", lambda: flags)
    processor.multiplies_bytes_at_once.cache_clear()
    settings = owner.app.settings.model_copy(update={"second_opinion": wanted})
    person = replace(owner, app=replace(owner.app, settings=settings))
    try:
        found = await person.call("search", query=QUESTION)
        (embedder,) = (each for each in readiness(person.app)["dependencies"] if each["name"] == "embedder")
    finally:
        processor.multiplies_bytes_at_once.cache_clear()
    assert found["results"][0]["name"] == "Repair"
    assert read == ([QUESTION] if is_asked else [])
    assert embedder["detail"].endswith(NO_SECOND_OPINION) != is_asked


@anyio
async def test_where_it_is_not_asked_it_reads_no_texts_and_does_so_once_it_is(
    settings: Settings, embedder: Embedder, monkeypatch: pytest.MonkeyPatch, asked: list[dict[str, float]]
) -> None:
    read = texts_read(monkeypatch, "embed_passage")
    off = settings.model_copy(update={"second_opinion": "off"})
    async with open_app(off, logs=LogRing(), embedder=embedder) as app:
        owner = await person(app, "owner")
        await stored(owner)
        assert (await owner.call("search", query=QUESTION))["results"][0]["name"] == "Repair"
        (dependency,) = (each for each in readiness(app)["dependencies"] if each["name"] == "embedder")
        assert dependency["detail"].endswith(NO_SECOND_OPINION)
    assert (read, asked) == ([], [])
    async with open_app(settings, logs=LogRing(), embedder=embedder) as app:
        until(lambda: len(read) == len(TEXTS) and not any(line.pending for line in app.indexer.status()))
        found = await replace(owner, app=app).call("search", query=QUESTION)
    assert found["results"][0]["name"] == "Repair"
    assert np.isfinite([*asked[-1].values()]).sum() == len(TEXTS)


@pytest.mark.parametrize(("provider", "has_second"), [("builtin", True), ("openai", False)])
@anyio
async def test_only_beside_the_built_in_model_there_is_a_second(
    tmp_path: Path, provider: str, *, has_second: bool
) -> None:
    from tools.app import open_stores

    remote = {"embedding_model": "m", "embedding_base_url": "http://127.0.0.1:9", "embedding_api_key": "k"}
    given: dict[str, Any] = {"embedding_provider": provider, **(remote if provider != "builtin" else {})}
    settings = Settings(data_dir=tmp_path / "other", second_opinion="on", **given)
    with open_stores(settings) as stores:
        assert stores.reader is not None
        assert (stores.reader.second is not None) == has_second


def test_shares_of_threads_are_not_touched() -> None:
    near, told = np.full(2, 0.4), np.array([0.9, np.nan])
    beside = Beside(np.array([False, True]), np.zeros(2))
    assert scores(near, Lent(beside, second=told))[1] == scores(near, Lent(beside))[1]
