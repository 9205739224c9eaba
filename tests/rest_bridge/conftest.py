"""One application for each module, served over a tiny catalogue of notes."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from rest_bridge.application import build_asgi
from tests.rest_bridge.harness import Person, client_of, opened, settings_at, sign_up
from tests.rest_bridge.notes import Notes
from tools.app import App


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    async with opened(settings_at(tmp_path_factory.mktemp("data"))) as app:
        yield app


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
async def client(app: App, notes: Notes) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(build_asgi(app, notes.operations())) as client:
        yield client


@pytest.fixture
def ada(app: App) -> Person:
    return sign_up(app)
