"""Ends that were announced, put off or given later: what was known of them stays what it was, on both databases."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from stores.ledger import HistoryQuery, Ledger, schema
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, create, delete, draft, relate, update

EVERYBODY = frozenset({ORGANIZATION})
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class HourClock(SteppingClock):
    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> HourClock:
    return HourClock()


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    create(ledger, *map(draft, "abcd"))
    return ledger


def end(ledger: Ledger, relation_id: str, invalid_at: datetime | None = None) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(relation_id, invalid_at=invalid_at)


def ids(ledger: Ledger, query: HistoryQuery) -> list[str]:
    return [each.then.id for each in ledger.relations.relation_history(ORG, query)]


def test_an_edge_shows_to_who_may_read_it_and_both_ends_now_and_then(ledger: Ledger, clock: HourClock) -> None:
    relate(ledger, "OWNS", "a", "b", id="r")
    relate(ledger, "OWNS", "b", "c", id="s")
    relate(ledger, "ABOUT", "b", "c", id="secret", visibility="private:y")
    early, clock.now = clock.now, clock.now + HOUR
    update(ledger, "a", visibility="private:x")
    hidden, clock.now = clock.now, clock.now + HOUR
    mine = EVERYBODY | {"private:x"}
    for mode in ("history", "timeline"):
        query = HistoryQuery(mode, EVERYBODY, 9, entity_id="b")
        assert ids(ledger, query) == ids(ledger, replace(query, as_of=early)) == ["s"]
        assert ids(ledger, replace(query, visibility=mine)) == ["s", "r"]
        assert ids(ledger, replace(query, visibility=mine, limit=1)) == ["s"]
        assert ids(ledger, replace(query, visibility=EVERYBODY | {"private:y"})) == ["secret", "s"]
        assert ids(ledger, replace(query, entity_id="a")) == ids(ledger, replace(query, entity_id="nobody")) == []
    update(ledger, "a", visibility=ORGANIZATION)
    query = HistoryQuery("history", EVERYBODY, 9)
    assert ids(ledger, query) == ids(ledger, replace(query, as_of=early)) == ["s", "r"]
    assert ids(ledger, replace(query, as_of=hidden)) == ["s"]
    assert ids(ledger, replace(query, as_of=hidden, visibility=mine)) == ["s", "r"]


def test_a_record_was_retired_as_long_as_the_end_that_was_known_then_says(ledger: Ledger, clock: HourClock) -> None:
    start = clock.now
    relate(ledger, "SUPERSEDES", "a", "b", id="r", invalid_at=start + 2 * DAY)
    clock.now = start + DAY
    end(ledger, "r", start + 30 * DAY)
    late = start + 3 * DAY
    clock.now = start + 4 * DAY
    end(ledger, "r", start + DAY)
    for at, there in ((start, True), (late, True), (clock.now, False)):
        assert ledger.records.superseded(ORG, ["b"], visibility=EVERYBODY, as_of=at) == ({"b"} if there else set())
    assert ledger.relations.relation_counts(ORG, EVERYBODY) == {}


def test_a_fact_told_by_a_clock_that_is_behind_ends_the_one_before(ledger: Ledger, clock: HourClock) -> None:
    create(ledger, *(draft(each, entity_type="epic") for each in ("first", "between", "next")))
    start = clock.now
    relate(ledger, "BELONGS_TO", "a", "first", id="r")
    clock.now = start + DAY
    relate(ledger, "BELONGS_TO", "a", "next", id="s")
    clock.now = start + DAY - HOUR
    relate(ledger, "BELONGS_TO", "a", "between", id="t", valid_at=start + HOUR)
    found = ledger.relations.by_ids(ORG, ["r", "t", "s"])
    assert [found[each].invalid_at for each in "rts"] == [start + HOUR, start + DAY, None]


def test_the_ends_of_what_is_erased_are_erased(ledger: Ledger, clock: HourClock) -> None:
    for relation_id, target in (("r", "b"), ("s", "c")):
        relate(ledger, "ABOUT", "a", target, id=relation_id, invalid_at=clock.now + 9 * DAY)
    clock.now += DAY
    end(ledger, "r")
    with ledger.transaction(ORG, ANN) as tx:
        assert tx.relations.withdraw_end("s") == tx.relations.withdraw_end("s")

    def kept() -> set[str]:
        with ledger._database.reader.connect() as connection:
            return set(connection.execute(select(schema.relation_ends.c.relation_id)).scalars())

    assert kept() == {"r", "s"}
    delete(ledger, "b")
    assert kept() == {"s"}
