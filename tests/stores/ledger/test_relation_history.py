"""Ends that were announced, put off, taken back or taken over: what was known of them stays what it was."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from stores.errors import Conflict
from stores.ledger import HistoryQuery, Ledger, schema
from stores.ledger.relation_history import EarlierEnd
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, ORG, create, delete, draft, relate
from tests.stores.ledger.test_history import HourClock

EVERYBODY = frozenset({ORGANIZATION})
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> HourClock:
    return HourClock()


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    create(ledger, draft("a"), draft("b"), draft("c"), draft("d"))
    return ledger


def add(ledger: Ledger, relation_id: str, name: str = "SUPERSEDES", target: str = "b", **dates: datetime) -> None:
    relate(ledger, name, "a", target, id=relation_id, **dates)


def end(ledger: Ledger, relation_id: str, invalid_at: datetime | None = None) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(relation_id, invalid_at=invalid_at, why={"ended": {"by": "ann"}})


def withdraw(ledger: Ledger, relation_id: str) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.withdraw_end(relation_id, why={"withdrawn": {"by": "ann"}})


def known(ledger: Ledger, at: datetime) -> list[tuple[datetime | None, datetime | None]]:
    found = ledger.relations.relation_history(ORG, HistoryQuery("timeline", EVERYBODY, 9, known_at=at))
    return [(each.then.invalid_at, each.then.expired_at) for each in found]


def test_every_read_of_the_past_answers_from_the_end_that_was_known(ledger: Ledger, clock: HourClock) -> None:
    start = clock.now
    add(ledger, "r", invalid_at=start + 2 * DAY)
    clock.now = start + DAY
    end(ledger, "r", start + 30 * DAY)
    late = start + 3 * DAY
    clock.now = start + 4 * DAY
    end(ledger, "r", start + DAY)

    def held(at: datetime, known_at: datetime) -> list[str]:
        query = HistoryQuery("history", EVERYBODY, 9, entity_id="b", as_of=at, known_at=known_at)
        return [each.then.id for each in ledger.relations.relation_history(ORG, query)]

    assert (held(late, start), held(late, start + DAY), held(late, clock.now)) == ([], ["r"], [])
    assert held(start, clock.now) == held(start, start) == ["r"]
    for at, there in ((start, True), (late, True), (clock.now, False)):
        assert [each.id for each in ledger.relations.relations_of(ORG, "a", at=at)] == ["r"] * there
        assert bool(ledger.relations.readable_relations_of(ORG, "b", visibility=EVERYBODY, at=at, limit=5)) is there
        assert ledger.records.superseded(ORG, ["b"], visibility=EVERYBODY, as_of=at) == ({"b"} if there else set())
        assert ledger.relations.relation_counts(ORG, EVERYBODY, at=at) == ({"SUPERSEDES": 1} if there else {})
    assert ledger.relations.relations_of(ORG, "a") == []
    assert ledger.relations.relation_counts(ORG, EVERYBODY) == {}


def test_what_ends_where_the_next_one_begins_lasts_again_once_that_was_never_true(
    ledger: Ledger, clock: HourClock
) -> None:
    add(ledger, "first", "PART_OF", "b")
    clock.now += DAY
    soon = clock.now + 5 * DAY
    add(ledger, "next", "PART_OF", "c", valid_at=soon)
    clock.now += DAY
    with pytest.raises(Conflict, match="another PART_OF begins"):
        withdraw(ledger, "first")
    end(ledger, "next", soon)
    withdraw(ledger, "first")
    assert [(each.id, each.invalid_at) for each in ledger.relations.relations_of(ORG, "a")] == [("first", None)]


def test_who_gave_an_end_or_took_it_back_is_told_and_kept(ledger: Ledger, clock: HourClock) -> None:
    add(ledger, "r", "ABOUT")
    provenances = []
    for deed in (
        lambda: end(ledger, "r", clock.now + 5 * DAY),
        lambda: withdraw(ledger, "r"),
        lambda: end(ledger, "r"),
    ):
        clock.now += DAY
        deed()
        provenances.append(ledger.relations.by_ids(ORG, ["r"])["r"].provenance)
    assert provenances == [{"ended": {"by": "ann"}}, {"withdrawn": {"by": "ann"}}, {"ended": {"by": "ann"}}]
    assert rows(ledger, schema.relation_ends.c.why) == ["{}", '{"ended":{"by":"ann"}}']


def rows(ledger: Ledger, column: object) -> Sequence[object]:
    with ledger._database.reader.connect() as connection:
        order = schema.relation_ends.c.known_from
        return connection.execute(select(column).order_by(order)).scalars().all()  # type: ignore[call-overload, no-any-return]


def test_nothing_is_kept_of_what_was_known_for_no_time_or_goes_without_saying(ledger: Ledger, clock: HourClock) -> None:
    add(ledger, "closed", "ABOUT")
    add(ledger, "announced", "OWNS")
    end(ledger, "announced", clock.now + 5 * DAY)
    end(ledger, "announced", clock.now + 6 * DAY)
    clock.now += DAY
    end(ledger, "closed")
    assert rows(ledger, schema.relation_ends.c.relation_id) == []
    assert ledger.relations.earlier_ends(ORG, ["closed", "announced"]) == {}


def test_a_clock_that_was_set_back_does_not_disorder_the_ends(ledger: Ledger, clock: HourClock) -> None:
    start = clock.now
    add(ledger, "r", "ABOUT", invalid_at=start + 9 * DAY)
    clock.now = start + 2 * DAY
    end(ledger, "r", start + 8 * DAY)
    clock.now = start + DAY
    end(ledger, "r", start + 7 * DAY)
    end(ledger, "r", start)
    assert ledger.relations.earlier_ends(ORG, ["r"]) == {"r": [EarlierEnd(start, start + 2 * DAY, start + 9 * DAY)]}
    assert known(ledger, start + DAY) == [(start + 9 * DAY, None)]
    assert known(ledger, start + 2 * DAY) == [(start, start + 2 * DAY)]


def test_a_fact_that_is_told_last_takes_its_place_and_leaves_what_was_believed(
    ledger: Ledger, clock: HourClock
) -> None:
    year = clock.now - 365 * DAY
    times: list[datetime] = []
    for relation_id, target, month in (("x", "b", 1), ("z", "d", 9), ("y", "c", 5)):
        add(ledger, relation_id, "PART_OF", target, valid_at=year + month * 30 * DAY)
        times.append(clock.now)
        clock.now += DAY

    def spans(known_at: datetime) -> dict[str, object]:
        query = HistoryQuery("timeline", EVERYBODY, 9, known_at=known_at)
        return {each.then.id: each.then.invalid_at for each in ledger.relations.relation_history(ORG, query)}

    may, september = year + 150 * DAY, year + 270 * DAY
    assert [spans(at) for at in times] == [
        {"x": None},
        {"x": september, "z": None},
        {"x": may, "y": september, "z": None},
    ]


def test_the_ends_of_what_is_erased_are_erased(ledger: Ledger, clock: HourClock) -> None:
    for relation_id, target in (("r", "b"), ("s", "c")):
        add(ledger, relation_id, "ABOUT", target, invalid_at=clock.now + 9 * DAY)
    clock.now += DAY
    for relation_id in "rs":
        end(ledger, relation_id)
    assert len(rows(ledger, schema.relation_ends.c.relation_id)) == 2
    delete(ledger, "b")
    assert rows(ledger, schema.relation_ends.c.relation_id) == ["s"]
