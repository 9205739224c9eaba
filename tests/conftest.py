"""What every test may use: the real embedder, an open application, people who call it."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings as hypothesis_settings

from stores.embedding import Embedder, EmbeddingSpec, build_embedder
from tests.ledgers import new_ledger
from tests.people import Person, person
from tools.app import App, open_app
from tools.logs import LogRing
from tools.settings import Settings

# The model for late interaction costs each server a second and 70 MB: tests that are about it switch it on.
os.environ.setdefault("ENGRAIN_LATE_INTERACTION", "false")
# The same examples in every run: a change fails for what it changed. `--hypothesis-profile default` searches on.
hypothesis_settings.register_profile("same", derandomize=True)
hypothesis_settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that at the end nobody waits for one of them."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """Undo what a command set up: its log lines would go to a stream that is closed by now."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _interruptible() -> None:
    """Let tests send Ctrl-C: a shell without job control hands on to what it runs in the background to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the server does."""
    return "asyncio"


@pytest.fixture(scope="session")
def embedder() -> Iterator[Embedder]:
    """The built-in model, loaded once."""
    built = build_embedder(EmbeddingSpec(provider="builtin"))
    assert built is not None
    built.embed_query("load")
    yield built
    built.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a fresh data folder."""
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, late_interaction=False)


@pytest.fixture
async def app(settings: Settings, embedder: Embedder) -> AsyncIterator[App]:
    """An open application on embedded stores."""
    if not settings.database_url:
        new_ledger(settings.data_dir)
    async with open_app(settings, logs=LogRing(), embedder=embedder) as opened:
        yield opened


@pytest.fixture
async def owner(app: App) -> Person:
    """The owner of an organization."""
    return await person(app, "owner")


@pytest.fixture
async def member(app: App, owner: Person) -> Person:
    """A member of the owner's organization."""
    return await person(app, "member", of=owner, role="member")


@pytest.fixture
async def viewer(app: App, owner: Person) -> Person:
    """A viewer of the owner's organization."""
    return await person(app, "viewer", of=owner, role="viewer")


@pytest.fixture
async def stranger(app: App) -> Person:
    """The owner of another organization."""
    return await person(app, "stranger")
