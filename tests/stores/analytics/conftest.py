"""A ledger, and analytics that are closed at the end of a test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stores.analytics import Analytics
from stores.ledger import Ledger
from tests.ledgers import new_ledger
from tests.stores.ledger.samples import ANN, ORG, OTHER, organization, person

START = datetime(2026, 3, 10, 9, tzinfo=UTC)
Start = Callable[..., Analytics]


class SetClock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def started(ledger: Ledger, path: Path, *, delay_s: float = 60) -> Analytics:
    made = Analytics(ledger, path, delay_s=delay_s, gather_s=0)
    ledger.on_commit.append(made.notify)
    ledger.people.on_delete.append(made.forget)
    made.start()
    return made


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: SetClock) -> Iterator[Ledger]:
    opened = Ledger.open(new_ledger(tmp_path), clock=clock)
    opened.people.create_account(person(ANN), organization(ORG))
    opened.people.create_organization(organization(OTHER, is_personal=False))
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "analytics.duckdb"


@pytest.fixture
def start(ledger: Ledger) -> Iterator[Start]:
    with ExitStack() as opened:
        yield lambda path, **options: opened.enter_context(closing(started(ledger, path, **options)))


@pytest.fixture
def analytics(start: Start, path: Path) -> Analytics:
    return start(path)
