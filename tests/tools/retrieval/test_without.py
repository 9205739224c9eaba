"""A server that leaves a part of the ranking out, to measure what it adds, goes without that part alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from stores.embedding.late import LateEncoder
from stores.embedding.second import SecondModel
from stores.lexical import LexicalIndex, Step, queries
from tests.people import Person, caught_up, person
from tools.app import App, open_app
from tools.logs import LogRing
from tools.retrieval import closer, neighbours, pipeline
from tools.retrieval.parts import Part
from tools.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, second_opinion="on")


@pytest.fixture
def app(own_app: App) -> App:
    return own_app


DOES: dict[Part, tuple[Any, str]] = {
    "alike": (closer, "alike"),
    "brought": (neighbours, "_in_order"),
    "code": (LexicalIndex, "code_among"),
    "days": (pipeline, "named_days"),
    "names": (queries, "numbered"),
    "second": (SecondModel, "embed_question"),
    "speakers": (neighbours, "asked_about"),
    "threads": (closer, "beside"),
    "tokens": (LateEncoder, "encode_question"),
}
"""By part, the step that only it takes."""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> set[Part]:
    """The parts whose steps are taken from now on."""
    found: set[Part] = set()

    def noting(part: Part, step: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **options: Any) -> Any:
            found.add(part)
            return step(*args, **options)

        return noted

    for part, (owner, name) in DOES.items():
        monkeypatch.setattr(owner, name, noting(part, getattr(owner, name)))
    return found


async def test_a_part_that_is_left_out_is_not_taken_and_the_others_are(member: Person, taken: set[Part]) -> None:
    for ordinal, text in enumerate(("Ines: Where did the walrus spend May?", "Otto: In Lisbon, for two weeks.")):
        metadata = {"thread_id": "t", "ordinal": ordinal}
        await member.call("store_raw_memory", raw_content=text, metadata=metadata, sync=True)
    for name in ("Walrus", "Walruses"):
        await member.call("create_entity", name=name, content="The walrus swims with Otto.", entity_type="note")
    await caught_up(member)
    parts = set(DOES)
    assert parts == set(get_args(Part)) - {"coverage", *get_args(Step)}
    for left_out in [(), *((part,) for part in DOES), get_args(Part)]:
        taken.clear()
        settings = member.app.settings.model_copy(update={"search_without": left_out})
        person = replace(member, app=replace(member.app, settings=settings))
        found = await person.call("search", query="What did Otto do with the walrus in May 2024?")
        assert found["results"]
        # Who is asked about and what is brought in is looked up of what stands in threads.
        expected = parts - set(left_out) - ({"speakers", "brought"} if "threads" in left_out else set())
        assert taken == expected, left_out


async def test_without_coverage_what_holds_every_word_counts_for_less(member: Person) -> None:
    await member.call("create_entity", name="Note", content="the walrus sleeps on zinc", entity_type="note", sync=True)
    settings = member.app.settings.model_copy(update={"search_without": ("coverage",)})
    without = replace(member, app=replace(member.app, settings=settings))
    (whole,), (less,) = [
        (await each.call("search", query="zinc walrus sleeps"))["results"] for each in (member, without)
    ]
    assert whole["score"] > less["score"] > 0


FOUND: dict[Step, tuple[str, str]] = {
    "exact": ("Posted on TikTok today.", "tiktok"),
    "splits": ("Call parseHTTPHeader here.", "header"),
    "stems": ("Two walruses were sleeping.", "walrus sleeps"),
}
"""By step, a text and a question that finds it by that step alone."""


async def test_an_index_of_words_is_built_anew_without_a_step_and_again_with_it(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, embedding_provider="none")
    async with open_app(settings, logs=LogRing()) as app:
        writer = await person(app, "ines")
        for step, (text, _) in FOUND.items():
            await writer.call("create_entity", name=f"About {step}s", content=text, entity_type="note", sync=True)
    assert set(FOUND) == set(get_args(Step))
    for left_out in [(), *((step,) for step in FOUND), ()]:
        changed = settings.model_copy(update={"search_without": left_out})
        async with open_app(changed, logs=LogRing()) as app:
            reader = replace(writer, app=app)
            await caught_up(reader)
            finds = {step for step, (_, question) in FOUND.items() if await _found(reader, question)}
        assert finds == set(FOUND) - set(left_out)


async def _found(reader: Person, question: str) -> bool:
    return bool((await reader.call("search", query=question))["results"])
