"""One application for each test module, people who call it, and the real embedder."""

import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
import structlog
from hypothesis import settings as hypothesis_settings

import tools.app
from stores.embedding import Embedder, EmbeddingSpec, build_embedder
from stores.indexer import IndexerOptions
from tests.embedders import CachingEmbedder
from tests.ledgers import new_ledger
from tests.people import Person, person
from tools.app import App, open_app
from tools.runtime.log_ring import LogRing
from tools.runtime.settings import Settings

# The token model costs each server a second and 70 MB: tests that are about it switch it on.
os.environ.setdefault("ENGRAIN_LATE_INTERACTION", "false")
# The same examples in every run: a change fails for what it changed. `--hypothesis-profile default` searches on.
hypothesis_settings.register_profile("same", derandomize=True)
hypothesis_settings.load_profile("same")
# Indexers do not wait for more writes before they commit.
tools.app.IndexerOptions = partial(  # type: ignore[attr-defined,assignment]
    IndexerOptions, gather_s=0, gather_unhurried_s=0.005, gather_deferred_s=0.005, gather_scans_s=0, commit_after_s=0.02
)


def _use_memory_for_folders() -> None:
    """Put temporary folders into memory, unless TMPDIR names a place: an fsync on a disk takes longer than a test."""
    memory = Path("/dev/shm")  # noqa: S108 - every folder in it is made by mkdtemp
    if "TMPDIR" not in os.environ and memory.is_dir() and shutil.disk_usage(memory).free > 4 * 2**30:
        os.environ["TMPDIR"] = str(memory)
        tempfile.tempdir = None


_use_memory_for_folders()


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


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def embedder() -> Iterator[Embedder]:
    built = build_embedder(EmbeddingSpec(provider="builtin"))
    assert built is not None
    built.embed_query("load")
    yield CachingEmbedder(built)
    built.close()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", rate_limit_enabled=False, late_interaction=False)


@pytest.fixture(scope="module")
async def shared_app(
    tmp_path_factory: pytest.TempPathFactory, embedder: Embedder, anyio_backend: str
) -> AsyncIterator[App]:
    """One application for each test module. Its first account, the admin, belongs to no test."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("shared"), rate_limit_enabled=False, late_interaction=False)
    new_ledger(settings.data_dir)
    async with open_app(settings, logs=LogRing(), embedder=embedder) as opened:
        await person(opened, "operator")
        yield opened


@pytest.fixture
async def own_app(settings: Settings, embedder: Embedder) -> AsyncIterator[App]:
    """An application of one test, on `settings`: for what concerns a whole server."""
    if not settings.database_url:
        new_ledger(settings.data_dir)
    async with open_app(settings, logs=LogRing(), embedder=embedder) as opened:
        yield opened


@pytest.fixture
def app(request: pytest.FixtureRequest) -> Iterator[App]:
    """The module's application, or one of the test's own where it asks for `own_app` or `settings`."""
    if not {"own_app", "settings"}.isdisjoint(request.fixturenames):
        yield request.getfixturevalue("own_app")
        return
    shared: App = request.getfixturevalue("shared_app")
    listeners = list(shared.ledger.on_commit)
    yield shared
    shared.ledger.on_commit[:] = listeners


@pytest.fixture
async def owner(app: App) -> Person:
    return await person(app, "owner")


@pytest.fixture
async def member(app: App, owner: Person) -> Person:
    return await person(app, "member", of=owner, role="member")


@pytest.fixture
async def viewer(app: App, owner: Person) -> Person:
    return await person(app, "viewer", of=owner, role="viewer")


@pytest.fixture
async def stranger(app: App) -> Person:
    return await person(app, "stranger")
