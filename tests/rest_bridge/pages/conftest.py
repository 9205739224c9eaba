"""A browser on the whole application."""

from collections.abc import AsyncIterator

import pytest

from rest_bridge.application import build_asgi
from tests.people import Person, person
from tests.rest_bridge.harness import Client, client_of, opened, settings_at
from tools.app import App


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    async with opened(settings_at(tmp_path_factory.mktemp("data"))) as app:
        yield app


@pytest.fixture
async def browser(app: App) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app)) as client:
        yield client


@pytest.fixture
async def ann(app: App) -> Person:
    return await person(app, "ann")
