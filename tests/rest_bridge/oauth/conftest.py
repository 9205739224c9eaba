"""A browser, a client and a person at the whole application, whose clock the test holds."""

from collections.abc import AsyncIterator

import pytest

from tests.people import Person, person
from tests.rest_bridge.harness import Client, Clock, settings_at
from tests.rest_bridge.oauth.flow import Flow
from tools.app import App, open_app
from tools.runtime.log_ring import LogRing


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, clock: Clock, anyio_backend: str) -> AsyncIterator[App]:
    settings = settings_at(tmp_path_factory.mktemp("data"), rate_limit_enabled=False)
    async with open_app(settings, logs=LogRing(), clock=clock) as app:
        yield app


@pytest.fixture
async def flow(whole_catalogue: Client) -> AsyncIterator[Flow]:
    flow = Flow(whole_catalogue)
    await flow.register()
    yield flow
    whole_catalogue.cookies.clear()


@pytest.fixture
async def ann(app: App) -> Person:
    return await person(app, "ann")
