"""One real server for each module."""

from collections.abc import AsyncIterator

import pytest

from tests.people import Person
from tests.rest_bridge.harness import opened, settings_at
from tests.security.harness import World, world_of


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[World]:
    settings = settings_at(tmp_path_factory.mktemp("data"), rate_limit_enabled=False)
    async with opened(settings) as app, world_of(app) as world:
        await world.person("operator")  # The first user is the server's admin, and stays.
        yield world


@pytest.fixture
async def ada(world: World) -> Person:
    return await world.person("ada")


@pytest.fixture
async def eve(world: World) -> Person:
    return await world.person("eve")
