"""A world per test, closed at its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.postgres import PostgresServer, postgres
from tests.stores.indexer.samples import LetterTokens, World, draft, level

__all__ = ["postgres"]


@pytest.fixture(autouse=True, scope="session")
def plain_logs() -> Iterator[None]:
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, renderer])
    yield
    structlog.reset_defaults()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def late(world: World) -> LetterTokens:
    world.late = LetterTokens()
    world.start(late_after_s=0.0)
    world.write(draft("first", "", name=""))
    level(world)
    world.late.passages.clear()
    return world.late


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)
