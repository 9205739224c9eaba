"""Whoever searches has the processors: texts for the indexes are read one at a time for a while."""

from collections.abc import AsyncIterator

import pytest

from tests.ledgers import new_ledger
from tests.people import Person
from tools.app import App, open_app
from tools.runtime import settings as module
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(module, "processors", lambda: 3)
    return settings.model_copy(update={"embedding_provider": "builtin"})


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    new_ledger(settings.data_dir)
    async with open_app(settings.model_copy(update={"late_interaction": True}), logs=LogRing()) as opened:
        yield opened


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "kestrel"}),
        ("search", {"query": "kestrel", "as_of": "2020-01-01"}),
        ("recall", {"query": "kestrel"}),
        ("context", {"goal": "kestrel"}),
        ("remember", {"title": "Kestrels", "content": "Kestrels hover.", "kind": "rule"}),
    ],
)
async def test_every_question_makes_way(app: App, owner: Person, tool: str, arguments: dict[str, str]) -> None:
    assert app.embedding_workers.available == 3
    await owner.call(tool, **arguments)
    assert app.embedding_workers.available == 1


@pytest.mark.parametrize(
    ("there", "asked", "given"), [(3, 0, 3), (3, 1, 1), (3, 2, 2), (3, 64, 3), (16, 0, 4), (16, 12, 12)]
)
def test_at_most_four_and_no_more_than_there_are_processors_are_read_at_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, there: int, asked: int, given: int
) -> None:
    monkeypatch.setattr(module, "processors", lambda: there)
    assert settings.model_copy(update={"embedding_threads": asked}).reading_threads == given
