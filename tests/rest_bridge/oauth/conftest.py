"""A browser, a client and a person at the whole application, whose clock the test holds."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rest_bridge.application import build_asgi
from tests.people import Person, person
from tests.rest_bridge.harness import client_of, settings_at
from tests.rest_bridge.oauth.flow import Flow
from tools.app import App, open_app
from tools.logs import LogRing


@dataclass
class Clock:
    """The time, until a test moves it."""

    now: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app(tmp_path: Path, clock: Clock) -> AsyncIterator[App]:
    async with open_app(settings_at(tmp_path, rate_limit_enabled=False), logs=LogRing(), clock=clock) as app:
        yield app


@pytest.fixture
async def flow(app: App) -> AsyncIterator[Flow]:
    async with client_of(build_asgi(app)) as browser:
        flow = Flow(browser)
        await flow.register()
        yield flow


@pytest.fixture
async def ann(app: App) -> Person:
    return await person(app, "ann")
