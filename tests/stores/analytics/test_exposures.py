"""Exposures are written beside, kept through rebuilds, and gone with the record, the user or the organization."""

import shutil
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stores.analytics import Analytics, Exposure, Exposures, Shown, Uses
from stores.errors import Unavailable
from stores.ledger import Ledger
from stores.records import ORGANIZATION
from tests.stores.analytics.conftest import START, SetClock, Start
from tests.stores.analytics.test_analytics import OPEN, rows
from tests.stores.indexer.samples import until
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, create, delete, draft, organization, person

RECORDS = "SELECT record_id FROM exposures ORDER BY record_id, signal"
SHOWN = Exposure(ORG, ANN, "exposure", "search", "session_1", "message_1", START, ())


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    ledger.people.create_account(person(BOB), organization("bobs"))
    ledger.people.add_membership(BOB, ORG, "member")
    create(ledger, draft("a"), draft("b", visibility="private:ann"))
    create(ledger, draft("c"), organization_id=OTHER)
    return ledger


def recorder(analytics: Analytics, ledger: Ledger, clock: SetClock, **options: Any) -> Exposures:
    return Exposures(analytics, ledger, clock, keep=timedelta(days=90), **options)


@pytest.fixture
def exposures(analytics: Analytics, ledger: Ledger, clock: SetClock) -> Exposures:
    return recorder(analytics, ledger, clock)


def shown(*ids: str, **changes: Any) -> Exposure:
    records = tuple(Shown(each, ORGANIZATION, rank, 0.5) for rank, each in enumerate(ids, start=1))
    return replace(SHOWN, records=records, **changes)


def test_what_was_returned_and_cited_later_is_counted_for_whoever_may_see_it(exposures: Exposures) -> None:
    later = START + timedelta(minutes=5)
    private = (Shown("b", "private:ann", 2, 0.4),)
    for each in (
        shown("a"),
        replace(SHOWN, records=private),
        shown("a", user_id=BOB, surface="recall"),
        replace(SHOWN, signal="citation", at=later, records=(Shown("a", ORGANIZATION),)),
        replace(SHOWN, signal="citation", at=START - timedelta(minutes=5), records=private),
        shown("a", at=later + timedelta(minutes=5)),
    ):
        assert exposures.put(each)
    assert exposures.uses(ORG, OPEN) == [Uses("recall", 1, 0), Uses("search", 2, 1)]
    assert exposures.uses(ORG, OPEN | {"private:ann"}) == [Uses("recall", 1, 0), Uses("search", 3, 1)]
    assert exposures.uses(OTHER, OPEN) == []


def test_rows_hold_ids_ranks_and_times_and_nothing_else(exposures: Exposures, analytics: Analytics, path: Path) -> None:
    exposures.put(shown("a", "b"))
    exposures.flush()
    analytics.close()
    naive = START.replace(tzinfo=None)
    common = ("exposure", "search", ANN, "session_1", "message_1")
    assert rows(path, "SELECT * FROM exposures ORDER BY rank") == [
        (ORG, "a", ORGANIZATION, *common, 1, 0.5, naive),
        (ORG, "b", ORGANIZATION, *common, 2, 0.5, naive),
    ]


def test_a_full_queue_refuses_and_counts_and_takes_again(analytics: Analytics, ledger: Ledger, clock: SetClock) -> None:
    small = recorder(analytics, ledger, clock, most=3)
    assert [small.put(shown("a", "b")), small.put(shown("a", "b")), small.put(shown("a"))] == [True, False, True]
    assert (small.written, small.dropped) == (0, 2)
    small.flush()
    assert (small.written, small.dropped) == (3, 2)
    assert small.put(shown("a", "b"))


def test_the_thread_writes_and_the_end_writes_the_rest(
    analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path
) -> None:
    quick = recorder(analytics, ledger, clock, delay_s=0)
    quick.start()
    quick.put(shown("a"))
    until(lambda: quick.written > 0)
    quick.close()
    late = recorder(analytics, ledger, clock, delay_s=60)
    late.start()
    late.put(shown("b"))
    late.close()
    analytics.close()
    assert rows(path, RECORDS) == [("a",), ("b",)]


def test_what_a_kill_leaves_is_what_had_been_written(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path, start: Start
) -> None:
    exposures.put(shown("a"))
    exposures.flush()
    exposures.put(shown("b"))
    left = path.with_name("left.duckdb")
    for suffix in ("", ".wal"):
        shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    again = start(left)
    assert recorder(again, ledger, clock).uses(ORG, OPEN) == [Uses("search", 1, 0)]


def test_a_rebuild_and_another_version_of_the_file_keep_them(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, clock: SetClock, path: Path, start: Start
) -> None:
    exposures.put(shown("a"))
    exposures.flush()
    analytics.rebuild(ORG)
    ledger.feed.epoch = "another"
    assert analytics.differences(ORG, 5) == []
    analytics.close()
    rows(path, "UPDATE about SET schema = 'ancient'")
    again = start(path)
    assert again.differences(ORG, 5) == []
    assert recorder(again, ledger, clock).uses(ORG, OPEN) == [Uses("search", 1, 0)]


@pytest.mark.parametrize("way", ["feed", "rebuild", "late"])
def test_an_erased_record_leaves_no_row(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, path: Path, way: str
) -> None:
    exposures.put(shown("a", "b"))
    exposures.put(shown("a", signal="citation"))
    if way != "late":
        exposures.flush()
        assert analytics.differences(ORG, 5) == []
    delete(ledger, "a")
    if way == "feed":
        assert analytics.differences(ORG, 5) == []
    elif way == "rebuild":
        analytics.rebuild(ORG)
    exposures.flush()
    analytics.close()
    assert rows(path, RECORDS) == [("b",)]


def test_a_record_that_is_erased_while_its_rows_are_written_leaves_none(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, path: Path
) -> None:
    stop = threading.Event()

    def follow() -> None:
        while not stop.is_set():
            analytics.differences(ORG, 5)

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        for number in range(20):
            create(ledger, draft(f"r{number}"))
            exposures.put(shown(f"r{number}"))
            eraser = threading.Thread(target=delete, args=(ledger, f"r{number}"))
            eraser.start()
            exposures.flush()
            eraser.join()
    finally:
        stop.set()
        follower.join()
    assert analytics.differences(ORG, 5) == []
    analytics.close()
    assert rows(path, RECORDS) == []


def test_a_stray_row_is_a_difference(exposures: Exposures, analytics: Analytics, ledger: Ledger) -> None:
    exposures.put(shown("a"))
    exposures.flush()
    assert analytics.differences(ORG, 5) == []
    analytics.using(lambda file: file.append_exposures(shown("ghost").rows({"ghost"})))
    assert analytics.differences(ORG, 5) == ["exposures of ghost, which is not in the ledger"]
    analytics.rebuild(ORG)
    assert analytics.differences(ORG, 5) == []


def test_a_deleted_organization_leaves_no_row(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, path: Path, start: Start
) -> None:
    exposures.put(shown("c", organization_id=OTHER))
    exposures.flush()
    exposures.put(shown("c", organization_id=OTHER))
    ledger.people.delete_organization(OTHER)
    analytics.close()
    again = start(path, delay_s=0)
    until(lambda: again.status().state == "ready" and not again.using(lambda file: file.exposed_records(OTHER)))
    again.close()
    assert rows(path, RECORDS) == []


def test_what_is_queued_for_an_organization_that_is_gone_is_not_written(
    exposures: Exposures, analytics: Analytics, ledger: Ledger
) -> None:
    exposures.put(shown("c", organization_id=OTHER))
    exposures.put(shown("a"))
    ledger.people.delete_organization(OTHER)
    exposures.flush()
    assert analytics.using(lambda file: (file.exposed_records(OTHER), file.exposed_records(ORG))) == (set(), {"a"})


def test_old_rows_and_those_of_users_who_are_gone_are_removed(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, clock: SetClock
) -> None:
    exposures.put(shown("a"))
    exposures.put(shown("b", at=START + timedelta(days=2)))
    exposures.put(shown("a", at=START + timedelta(days=2), user_id=BOB))
    exposures.flush()
    clock.now = START + timedelta(days=91)
    exposures.prune()
    assert exposures.uses(ORG, OPEN) == [Uses("search", 2, 0)]
    ledger.people.delete_user(BOB)
    exposures.prune()
    assert analytics.using(lambda file: file.exposed_users()) == {ANN}


def test_a_full_disk_costs_no_row_that_was_written(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, path: Path
) -> None:
    exposures.put(shown("a"))
    exposures.flush()

    def fail(_: object) -> None:
        raise duckdb.IOException(f'Could not write file "{path}.wal": No space left on device')

    for _ in range(3):
        with pytest.raises(Unavailable):
            analytics.using(fail)
    assert exposures.uses(ORG, OPEN) == [Uses("search", 1, 0)]


def test_rows_wait_while_the_file_cannot_be_used(
    exposures: Exposures, analytics: Analytics, ledger: Ledger, path: Path
) -> None:
    path.mkdir()
    exposures.put(shown("a"))
    with pytest.raises(Unavailable):
        exposures.flush()
    assert (exposures.written, exposures.dropped) == (0, 0)
    shutil.rmtree(path, ignore_errors=True)
    assert exposures.uses(ORG, OPEN) == [Uses("search", 1, 0)]
