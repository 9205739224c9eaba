from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any, cast

import pytest

from stores.errors import Conflict, NotFound
from stores.ledger import Ledger, RelationDraft
from stores.records import Change, Entity
from tests.stores.ledger.samples import ANN, ORG, OTHER, at_once, create, draft, winners

WRITERS = 6
EACH = 12


def test_a_follower_never_misses_a_change_while_many_write(ledger: Ledger, second: Ledger) -> None:
    done = Event()

    def write(writer: int) -> None:
        for number in range(EACH):
            with (ledger, second)[writer % 2].transaction(ORG, f"writer-{writer}") as tx:
                tx.records.create_entity(draft(f"{writer}-{number}-a"))
                tx.records.create_entity(draft(f"{writer}-{number}-b"))

    def follow() -> list[Change]:
        seen: list[Change] = []
        while True:
            was_done = done.is_set()
            seen += ledger.feed.changes(ORG, len(seen), 7)
            if was_done and len(seen) == ledger.feed.head(ORG).sequence:
                return seen

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        following = pool.submit(follow)
        for written in [pool.submit(write, writer) for writer in range(WRITERS)]:
            written.result(timeout=120)
        done.set()
        seen = following.result(timeout=60)

    assert [row.sequence for row in seen] == list(range(1, 2 * WRITERS * EACH + 1))
    assert {row.record_id for row in seen} == set(ledger.records.revisions(ORG))
    moments = [row.created_at for row in seen if row.actor.endswith(("1", "3", "5"))]
    assert moments == sorted(moments), "times of one clock follow the order of commits"


def test_no_update_is_lost(ledger: Ledger, second: Ledger) -> None:
    create(ledger, draft("e1", metadata={"n": 0}))

    def increment(entity: Entity) -> Entity:
        return replace(entity, metadata={"n": cast(int, entity.metadata["n"]) + 1})

    def write(writer: int) -> None:
        for _ in range(EACH):
            with (ledger, second)[writer % 2].transaction(ORG, ANN) as tx:
                tx.records.update_entity("e1", increment)

    at_once(write)

    read = ledger.records.entity(ORG, "e1")
    assert read.metadata == {"n": WRITERS * EACH}
    assert read.revision == WRITERS * EACH + 1


def test_of_writers_that_expect_the_same_revision_one_wins(ledger: Ledger, second: Ledger) -> None:
    create(ledger, draft("e1"))

    def write(writer: int) -> None:
        with (ledger, second)[writer % 2].transaction(ORG, ANN) as tx:
            tx.records.update_entity("e1", lambda entity: replace(entity, name=str(writer)), expected_revision=1)

    assert winners(write, Conflict) == 1


def test_of_writers_that_create_the_same_record_one_wins(ledger: Ledger, second: Ledger) -> None:
    create(ledger, draft("a"), draft("b"))

    def write(writer: int) -> tuple[bool, str]:
        with (ledger, second)[writer % 2].transaction(ORG, ANN) as tx:
            relation = tx.relations.add_relation(RelationDraft(name="ABOUT", source_id="a", target_id="b"))
            try:
                tx.records.create_entity(draft("same"))
            except Conflict:
                return False, relation.id
            return True, relation.id

    outcomes = at_once(write)
    assert sum(created for created, _ in outcomes) == 1
    assert len({relation_id for _, relation_id in outcomes}) == 1
    assert len(ledger.relations.relation_ids(ORG)) == 1


def test_no_relation_is_left_to_an_entity_that_was_deleted_meanwhile(ledger: Ledger, second: Ledger) -> None:
    ids = [f"e{number}" for number in range(20)]
    create(ledger, draft("hub"), *(draft(entity_id) for entity_id in ids))

    def relate(entity_id: str) -> None:
        try:
            with ledger.transaction(ORG, ANN) as tx:
                tx.relations.add_relation(RelationDraft(name="ABOUT", source_id="hub", target_id=entity_id))
        except NotFound:
            return

    def delete(entity_id: str) -> None:
        with second.transaction(ORG, ANN) as tx:
            tx.records.delete_entity(entity_id)

    with ThreadPoolExecutor(4) as pool:
        for entity_id in ids:
            pool.submit(relate, entity_id)
            pool.submit(delete, entity_id)
    assert ledger.records.revisions(ORG) == {"hub": 1}
    assert ledger.relations.relation_ids(ORG) == set()


def test_organizations_do_not_wait_for_each_other_on_a_server(ledger: Ledger, second: Ledger) -> None:
    if cast(Any, ledger)._database.is_sqlite:
        pytest.skip("a SQLite file has one writer")
    with ledger.transaction(ORG, ANN) as outer:
        outer.records.create_entity(draft("e1"))
        create(second, draft("e1"), organization_id=OTHER)
        assert ledger.records.revisions(OTHER) == {"e1": 1}
        assert ledger.records.revisions(ORG) == {}
    assert ledger.records.revisions(ORG) == {"e1": 1}
