"""One application for each module, without limits on how often somebody asks, and somebody with a real account."""

from collections.abc import AsyncIterator

import pytest

from tests.people import Person, person
from tests.rest_bridge.harness import opened, settings_at
from tools.app import App


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[App]:
    async with opened(settings_at(tmp_path_factory.mktemp("data"), rate_limit_enabled=False)) as app:
        yield app


@pytest.fixture
async def ada(app: App) -> Person:
    return await person(app, "ada")
