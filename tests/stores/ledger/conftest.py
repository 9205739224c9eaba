"""A ledger with two organizations on each database."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.ledger import Ledger
from stores.ledger.engine import Database, connect
from tests.postgres import PostgresServer, postgres
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, organization, person

__all__ = ["postgres"]

CONTRACT = frozenset({"concurrency", "engine", "feed", "idempotency", "jobs", "listing", "migrating", "tickets"})
"""Tests of what differs between databases: locks, feed order, JSON, migrations. CI runs the rest too."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if "postgresql" in params.values() and item.path.stem.removeprefix("test_") not in CONTRACT:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ledger.sqlite'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    database = server.create_database()
    yield database
    server.drop_database(database)


@pytest.fixture(params=["sqlite", "postgresql"])
def populated_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a ledger with two organizations, copied from one that was made once."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_original"), tmp_path / "ledger.sqlite")
        yield f"sqlite:///{tmp_path / 'ledger.sqlite'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    database = server.create_database(copy_of=request.getfixturevalue("postgres_original"))
    yield database
    server.drop_database(database)


@pytest.fixture
def database(populated_url: str) -> Iterator[Database]:
    opened = connect(populated_url)
    yield opened
    opened.close()


@pytest.fixture
def ledger(populated_url: str, clock: SteppingClock) -> Iterator[Ledger]:
    opened = Ledger.open(populated_url, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def second(ledger: Ledger, populated_url: str) -> Iterator[Ledger]:
    """Another process's view of the same ledger."""
    opened = Ledger.open(populated_url)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def sqlite_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "ledger.sqlite"
    populate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_original(postgres: PostgresServer) -> str:
    database = postgres.create_database()
    populate(database)
    return database


def populate(url: str) -> None:
    ledger = Ledger.open(url, clock=SteppingClock())
    ledger.people.create_account(person(ANN), organization(ORG))
    ledger.people.create_account(person(BOB), organization(OTHER))
    ledger.close()
