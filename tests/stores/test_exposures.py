"""Exposures are written beside, and gone with the record, the user or the organization."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stores.errors import Unavailable
from stores.exposures import OPTIONS, Exposure, Exposures, Shown
from stores.ledger import Ledger
from stores.records import ORGANIZATION
from tests.ledgers import new_ledger
from tests.stores.indexer.samples import until
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, create, delete, draft, organization, person

START = datetime(2026, 3, 10, 9, tzinfo=UTC)
SHOWN = Exposure(ORG, ANN, "exposure", "search", "session_1", "message_1", START, ())


class SetClock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: SetClock) -> Iterator[Ledger]:
    with closing(Ledger.open(new_ledger(tmp_path), clock=clock)) as ledger:
        for user, home in ((ANN, ORG), (BOB, "bobs")):
            ledger.people.create_account(person(user), organization(home))
        ledger.people.create_organization(organization(OTHER, is_personal=False))
        ledger.people.add_membership(BOB, ORG, "member")
        create(ledger, draft("a"), draft("b", visibility="private:ann"))
        create(ledger, draft("c"), organization_id=OTHER)
        yield ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "analytics.duckdb"


def recorder(ledger: Ledger, path: Path, clock: SetClock, **options: Any) -> Exposures:
    return Exposures(ledger, path, clock, keep=timedelta(days=90), **options)


@pytest.fixture
def exposures(ledger: Ledger, path: Path, clock: SetClock) -> Iterator[Exposures]:
    with closing(recorder(ledger, path, clock)) as made:
        yield made


def shown(*ids: str, **changes: Any) -> Exposure:
    records = tuple(Shown(each, ORGANIZATION, rank, 0.5) for rank, each in enumerate(ids, start=1))
    return replace(SHOWN, records=records, **changes)


def rows(path: Path, columns: str = "record_id") -> list[Any]:
    with duckdb.connect(str(path), config=OPTIONS) as connection:
        return connection.execute(f"SELECT {columns} FROM exposures ORDER BY record_id, signal").fetchall()


def test_a_full_queue_refuses_and_counts_and_takes_again(ledger: Ledger, path: Path, clock: SetClock) -> None:
    with closing(recorder(ledger, path, clock, most=2)) as small:
        assert [small.put(shown("a", "b")), small.put(shown("a")), small.put(shown("a", "b"))] == [True, True, False]
        assert (small.written, small.dropped) == (0, 2)
        small.flush()
        assert (small.written, small.dropped) == (3, 2)
        assert small.put(shown("a", "b"))


def test_the_thread_writes_and_the_end_writes_the_rest(ledger: Ledger, path: Path, clock: SetClock) -> None:
    with ExitStack() as stack:
        quick = stack.enter_context(closing(recorder(ledger, path, clock, delay_s=0)))
        quick.start()
        quick.put(shown("a"))
        until(lambda: quick.written > 0)
    with closing(recorder(ledger, path, clock, delay_s=60)) as late:
        late.start()
        late.put(shown("b"))
    assert rows(path) == [("a",), ("b",)]


def test_what_a_kill_leaves_is_what_had_been_written(exposures: Exposures, path: Path) -> None:
    exposures.put(shown("a"))
    exposures.flush()
    exposures.put(shown("b"))
    left = path.with_name("left.duckdb")
    for suffix in ("", ".wal"):
        shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    assert rows(left) == [("a",)]


def test_what_is_erased_while_it_is_queued_is_not_written(exposures: Exposures, ledger: Ledger, path: Path) -> None:
    exposures.put(shown("a", "b"))
    exposures.put(shown("c", organization_id=OTHER))
    delete(ledger, "a")
    ledger.people.delete_organization(OTHER)
    exposures.flush()
    assert rows(path) == [("b",)]


def test_rows_that_are_old_or_of_what_is_gone_are_removed(
    exposures: Exposures, ledger: Ledger, path: Path, clock: SetClock
) -> None:
    later = START + timedelta(days=2)
    create(ledger, draft("d"))
    for each in (
        shown("a"), shown("b", at=later), shown("d", at=later, signal="citation"), shown("b", at=later, user_id=BOB),
        shown("c", at=later, organization_id=OTHER),
    ):  # fmt: skip
        exposures.put(each)
    exposures.flush()
    delete(ledger, "d")
    ledger.people.delete_organization(OTHER)
    ledger.people.delete_user(BOB)
    clock.now = START + timedelta(days=91)
    exposures.prune()
    assert rows(path, "record_id, user_id") == [("b", ANN)]


@pytest.mark.parametrize("content", [b"", b"no database " * 1000], ids=["empty", "nonsense"])
def test_a_damaged_file_is_set_aside_and_made_again(exposures: Exposures, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    exposures.put(shown("a"))
    try:
        exposures.flush()
    except Unavailable:
        assert (exposures.written, exposures.dropped) == (0, 0)
        exposures.flush()
    assert rows(path) == [("a",)]


def test_a_file_that_somebody_else_has_open_is_left_alone(exposures: Exposures, path: Path) -> None:
    holding = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    exposures.put(shown("a"))
    with subprocess.Popen(
        [sys.executable, "-c", holding, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        for _ in range(2):
            with pytest.raises(Unavailable):
                exposures.flush()
        other.communicate(b"")
    exposures.flush()
    assert rows(path) == [("a",)]
    exposures.close()
    assert [each.name for each in path.parent.glob("analytics*")] == ["analytics.duckdb"]
