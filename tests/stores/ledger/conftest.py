"""A ledger with two organizations on each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stores.ledger import Ledger
from tests.postgres import PostgresServer, postgres
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, organization, person

__all__ = ["postgres"]


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


@pytest.fixture
def ledger(url: str, clock: SteppingClock) -> Iterator[Ledger]:
    opened = Ledger.open(url, clock=clock)
    opened.create_account(person(ANN), organization(ORG))
    opened.create_account(person(BOB), organization(OTHER))
    yield opened
    opened.close()
