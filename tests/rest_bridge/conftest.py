"""One application for each module, with the SETTINGS of it, over a catalogue of notes or every operation."""

from collections.abc import AsyncIterator, Iterator

import pytest

from rest_bridge.application import build_asgi
from tests.rest_bridge.harness import Client, Clock, Person, client_of, opened, settings_at, sign_up
from tests.rest_bridge.notes import Notes
from tools.app import App
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation


@pytest.fixture(scope="module")
async def app(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str, request: pytest.FixtureRequest
) -> AsyncIterator[App]:
    changed = getattr(request.module, "SETTINGS", {})
    async with opened(settings_at(tmp_path_factory.mktemp("data"), **changed)) as app:
        yield app


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def every_operation() -> tuple[Operation, ...]:
    return OPERATIONS


@pytest.fixture(scope="module")
async def whole_catalogue(app: App, anyio_backend: str) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app)) as client:
        yield client


@pytest.fixture
async def notes_client(app: App, notes: Notes) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app, notes.operations())) as client:
        yield client


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    serves_all = "every_operation" in request.fixturenames
    client: Client = request.getfixturevalue("whole_catalogue" if serves_all else "notes_client")
    yield client
    client.cookies.clear()


@pytest.fixture
def ada(app: App) -> Person:
    return sign_up(app)
