"""A browser on the whole application."""

from collections.abc import AsyncIterator

import pytest

from rest_bridge.application import build_asgi
from tests.people import Person, person
from tests.rest_bridge.harness import Client, client_of
from tools.app import App


@pytest.fixture
async def browser(app: App) -> AsyncIterator[Client]:
    async with client_of(build_asgi(app)) as client:
        yield client


@pytest.fixture
async def ann(app: App) -> Person:
    return await person(app, "ann")
