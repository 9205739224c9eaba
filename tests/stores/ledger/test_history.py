"""Facts over time, against a plain model: whatever the four times are, both databases answer what it says."""

import random
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple

import pytest

from stores.errors import Conflict
from stores.ledger import HistoryQuery, Ledger, RelationDraft
from stores.records import ORGANIZATION, Relation
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, draft, update

EVERYBODY = frozenset({ORGANIZATION})
HOUR = timedelta(hours=1)
IDS = "abcd"


class HourClock(SteppingClock):
    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> HourClock:
    return HourClock()


def ids(ledger: Ledger, query: HistoryQuery) -> list[str]:
    return [each.then.id for each in ledger.relations.relation_history(ORG, query)]


class Told(NamedTuple):
    since: datetime
    known: Relation


Past = dict[str, list[Told]]


def grow(ledger: Ledger, clock: HourClock, chance: random.Random) -> Past:
    start = clock.now
    past: Past = {}
    for number in range(60):
        clock.now = start + chance.randrange(-3, 6) * HOUR
        known = sorted(ledger.relations.relation_ids(ORG))
        with suppress(Conflict), ledger.transaction(ORG, ANN) as tx:
            deed = chance.random() if known else 1
            if deed < 0.15:
                tx.relations.withdraw_end(chance.choice(known))
            elif deed < 0.45:
                tx.relations.end_relation(
                    chance.choice(known), invalid_at=chance.choice((None, some_hour(clock, chance)))
                )
            else:
                tx.relations.add_relation(some_fact(clock, chance, f"r{number}"))
        for relation in ledger.relations.by_ids(ORG, ledger.relations.relation_ids(ORG)).values():
            versions = past.setdefault(relation.id, [Told(relation.created_at, relation)])
            if relation != versions[-1].known:
                versions.append(Told(max(clock.now, versions[-1].since), relation))
    clock.now = start + HOUR
    return past


def some_fact(clock: HourClock, chance: random.Random, relation_id: str) -> RelationDraft:
    return RelationDraft(
        name=chance.choice(("ABOUT", "SUPERSEDES")),
        source_id=chance.choice(IDS),
        target_id=chance.choice(IDS),
        visibility=chance.choice((ORGANIZATION, "private:x")),
        valid_at=chance.choice((None, some_hour(clock, chance))),
        invalid_at=chance.choice((None, some_hour(clock, chance))),
        id=relation_id,
    )


def some_hour(clock: HourClock, chance: random.Random) -> datetime:
    return clock.now + chance.randrange(-4, 5) * HOUR


def known(past: Past, query: HistoryQuery, now: datetime) -> list[Relation]:
    at = query.known_at or query.as_of or now
    if query.as_of is None and query.known_at is None:
        return [versions[-1].known for versions in past.values()]
    found = ([each.known for each in versions if each.since <= at] for versions in past.values())
    return [versions[-1] for versions in found if versions]


def expected(past: Past, query: HistoryQuery, now: datetime) -> list[Relation]:
    is_wanted = wanted_now if query.as_of is None and query.known_at is None else wanted_then
    found = [
        each for each in known(past, query, now) if each.visibility in query.visibility and is_wanted(each, query, now)
    ]
    if query.entity_id is not None:
        found = [each for each in found if query.entity_id in (each.source_id, each.target_id)]
    found.sort(key=lambda each: (each.created_at, each.id), reverse=True)
    return found[: query.limit]


def wanted_then(fact: Relation, query: HistoryQuery, now: datetime) -> bool:
    at = query.as_of or now
    ends = [end for end in (fact.expired_at, fact.invalid_at) if end is not None]
    is_begun, is_over = fact.valid_at <= at, any(end <= at for end in ends)
    match query.mode:
        case "history":
            return is_begun and (query.include_ended or not is_over)
        case "timeline":
            return True
    return fact.expired_at is not None or is_over or (fact.name == "SUPERSEDES" and is_begun)


def wanted_now(fact: Relation, query: HistoryQuery, now: datetime) -> bool:
    is_begun = fact.valid_at <= max(now, fact.created_at)
    is_over = fact.expired_at is not None or (fact.invalid_at is not None and fact.invalid_at <= now)
    match query.mode:
        case "history":
            return is_begun and (query.include_ended or not is_over)
        case "timeline":
            return True
    return is_over or (fact.name == "SUPERSEDES" and is_begun)


@pytest.fixture(params=range(3))
def past(request: pytest.FixtureRequest, ledger: Ledger, clock: HourClock) -> Past:
    create(ledger, *(draft(each) for each in IDS))
    return grow(ledger, clock, random.Random(request.param))


def test_every_question_is_answered_as_the_model_does(ledger: Ledger, clock: HourClock, past: Past) -> None:
    moments = [None, *(clock.now + hours * HOUR for hours in (-4, -1, 0, 2))]
    nothing = 0
    for mode, entity_id, as_of, known_at, ended in product(
        ("history", "timeline", "conflicts"), (None, "a"), moments, moments, (False, True)
    ):
        query = HistoryQuery(
            mode=mode,  # type: ignore[arg-type]
            visibility=EVERYBODY,
            limit=100,
            entity_id=entity_id,
            as_of=as_of,
            known_at=known_at,
            include_ended=ended,
        )
        found = ledger.relations.relation_history(ORG, query)
        assert [each.then for each in found] == expected(past, query, clock.now), query
        assert [each.today for each in found] == [past[each.today.id][-1].known for each in found]
        assert ledger.relations.relation_history(ORG, replace(query, limit=2)) == found[:2], query
        nothing += not found
    assert nothing < 150, "of 300 questions"
    assert ledger.relations.relation_history(OTHER, HistoryQuery("timeline", EVERYBODY, 9)) == []


def test_what_was_closed_later_is_shown_as_it_was_believed(ledger: Ledger, clock: HourClock) -> None:
    create(ledger, draft("a"), draft("b"))
    monday = clock.now
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.add_relation(RelationDraft("OWNS", "a", "b", id="r"))
    tuesday, clock.now = monday + 24 * HOUR, monday + 72 * HOUR
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation("r", invalid_at=monday + HOUR)
    history = HistoryQuery("history", EVERYBODY, 9, as_of=tuesday)
    assert ids(ledger, history) == ["r"], "on Tuesday nobody knew"
    assert ids(ledger, replace(history, known_at=clock.now)) == []
    assert ids(ledger, replace(history, as_of=monday, known_at=clock.now)) == ["r"]
    assert ids(ledger, HistoryQuery("history", EVERYBODY, 9)) == []


def test_an_edge_shows_to_who_may_read_both_ends_now_and_then(ledger: Ledger, clock: HourClock) -> None:
    create(ledger, draft("a"), draft("b"), draft("c"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.add_relation(RelationDraft("OWNS", "a", "b", id="r"))
        tx.relations.add_relation(RelationDraft("OWNS", "b", "c", id="s"))
    early, clock.now = clock.now, clock.now + HOUR
    update(ledger, "a", visibility="private:x")
    hidden, clock.now = clock.now, clock.now + HOUR
    mine = EVERYBODY | {"private:x"}
    for mode in ("history", "timeline"):
        query = HistoryQuery(mode, EVERYBODY, 9, entity_id="b")
        assert ids(ledger, query) == ids(ledger, replace(query, as_of=early)) == ["s"]
        assert ids(ledger, replace(query, visibility=mine)) == ["s", "r"]
        assert ids(ledger, replace(query, entity_id="a")) == ids(ledger, replace(query, entity_id="nobody")) == []
    update(ledger, "a", visibility=ORGANIZATION)
    query = HistoryQuery("history", EVERYBODY, 9)
    assert ids(ledger, query) == ids(ledger, replace(query, as_of=early)) == ["s", "r"]
    assert ids(ledger, replace(query, as_of=hidden)) == ["s"]
    assert ids(ledger, replace(query, as_of=hidden, visibility=mine)) == ["s", "r"]
