import sqlite3
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from stores.ledger.engine import ReaderPool

OPENED: list[sqlite3.Connection] = []


def opened() -> sqlite3.Connection:
    OPENED.append(sqlite3.connect(":memory:", check_same_thread=False))
    return OPENED[-1]


@pytest.fixture
def engine() -> Iterator[Engine]:
    OPENED.clear()
    made = create_engine("sqlite://", creator=opened, poolclass=ReaderPool, most=3, most_idle=1, timeout_s=0.05)
    yield made
    made.pool.dispose()
    assert not [each for each in OPENED if is_open(each)]


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_no_more_are_lent_than_there_are(engine: Engine) -> None:
    lent = [engine.connect() for _ in range(3)]
    with pytest.raises(PoolTimeout, match="All 3 connections are in use"):
        engine.connect()
    for each in lent:
        each.close()
    assert sum(map(is_open, OPENED)) == 1


def test_whoever_waits_is_given_what_comes_back(engine: Engine) -> None:
    first, *_others = engine.connect(), engine.connect(), engine.connect()
    timer = threading.Timer(0.01, first.close)
    timer.start()
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    timer.join()
    for each in _others:
        each.close()


def test_a_connection_that_cannot_be_opened_takes_no_place() -> None:
    fails = True

    def creator() -> sqlite3.Connection:
        if fails:
            raise sqlite3.OperationalError("unable to open database file")
        return sqlite3.connect(":memory:")

    engine = create_engine("sqlite://", creator=creator, poolclass=ReaderPool, most=1, most_idle=1, timeout_s=0.05)
    for _ in range(3):
        with pytest.raises(OperationalError):
            engine.connect()
    fails = False
    engine.connect().close()
    engine.pool.dispose()
