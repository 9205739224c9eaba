"""A server that leaves a part of the ranking out, to measure what it adds, goes without that part alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from stores.embedding.late import LateEncoder
from stores.embedding.second import SecondModel
from stores.lexical import LexicalIndex, queries
from tests.people import Person, caught_up
from tools.retrieval import closer, neighbours, pipeline
from tools.retrieval.parts import Part
from tools.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, second_opinion="on")


DOES: dict[Part, tuple[Any, str]] = {
    "alike": (closer, "alike"),
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
    parts = set(get_args(Part))
    assert set(DOES) == parts
    for left_out in [(), *((part,) for part in get_args(Part)), get_args(Part)]:
        taken.clear()
        settings = member.app.settings.model_copy(update={"search_without": left_out})
        person = replace(member, app=replace(member.app, settings=settings))
        found = await person.call("search", query="What did Otto do with the walrus in May 2024?")
        assert found["results"]
        # Who is asked about is looked up of what stands in threads.
        expected = parts - set(left_out) - ({"speakers"} if "threads" in left_out else set())
        assert taken == expected, left_out
