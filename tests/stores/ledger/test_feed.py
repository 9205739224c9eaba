from dataclasses import replace
from datetime import timedelta

from stores.ledger import Ledger, RelationDraft
from stores.records import Position
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, draft, rename


def test_each_write_is_one_row_of_the_feed_without_text(ledger: Ledger) -> None:
    with ledger.transaction(ORG, ANN, deferred=True) as tx:
        tx.records.create_entity(draft("e1", entity_type="task", visibility="private:x"), fields={"mode": "sync"})
        tx.records.create_entity(draft("e2"))
        tx.relations.add_relation(RelationDraft(name="ABOUT", source_id="e1", target_id="e2", fact="secret", id="r1"))
        written_at = tx.now
    with ledger.transaction(ORG, ANN) as tx:
        tx.records.update_entity("e1", lambda entity: replace(entity, name="new"), fields={"status": "doing"})
        tx.records.delete_entity("e2")

    changes = ledger.feed.changes(ORG, 0, 10)

    assert [(row.sequence, row.kind, row.record_id, row.operation, row.revision) for row in changes] == [
        (1, "entity", "e1", "create", 1), (2, "entity", "e2", "create", 1), (3, "relation", "r1", "create", 1),
        (4, "entity", "e1", "update", 2), (5, "relation", "r1", "delete", 1), (6, "entity", "e2", "delete", 1),
    ]  # fmt: skip
    assert [row.deferred for row in changes] == [True] * 3 + [False] * 3
    assert [row.fields for row in changes[:4]] == [{"mode": "sync"}, {}, {}, {"status": "doing"}]
    assert [row.entity_type for row in changes[:3]] == ["task", "episode", "ABOUT"]
    assert changes[0].visibility == "private:x"
    assert changes[0].actor == ANN
    assert changes[0].created_at == written_at
    assert "secret" not in repr(changes)


def test_the_head_is_the_last_change_and_one_transaction_is_one_batch(ledger: Ledger) -> None:
    create(ledger, draft("e1"), draft("e2"))
    create(ledger, draft("e3"))

    changes = ledger.feed.changes(ORG, 0, 10)

    assert changes[0].batch == changes[1].batch != changes[2].batch
    assert ledger.feed.head(ORG) == Position(ledger.feed.epoch, 3, changes[2].batch)
    assert [ledger.feed.batch_at(ORG, number) for number in (1, 2, 3, 4)] == [*(row.batch for row in changes), None]
    assert ledger.feed.changes(ORG, 1, 1) == changes[1:2]
    assert ledger.feed.head(OTHER).sequence == 0


def test_a_snapshot_shows_one_moment_while_writers_go_on(ledger: Ledger) -> None:
    create(ledger, *(draft(f"e{number:04}") for number in range(1_001)))
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.add_relation(RelationDraft(name="ABOUT", source_id="e0000", target_id="e0001", id="r1"))
        tx.relations.end_relation("r1")
    with ledger.feed.snapshot(ORG) as snapshot:
        rename(ledger, "e1000", "changed")
        create(ledger, draft("later"))
        pages = list(snapshot.entities())
        relations = [relation.id for page in snapshot.relations() for relation in page]

        assert snapshot.position.sequence == 1_003
        assert [len(page) for page in pages] == [500, 500, 1]
        assert pages[-1][0].name == "e1000"
        assert relations == ["r1"]
    assert ledger.feed.head(ORG).sequence == 1_005


def test_pruning_keeps_what_a_follower_needs(ledger: Ledger, clock: SteppingClock) -> None:
    for number in range(5):
        create(ledger, draft(f"e{number}"))
    cut = clock()
    create(ledger, draft("e5"))
    batches = [row.batch for row in ledger.feed.changes(ORG, 0, 10)]

    assert ledger.feed.prune_feed(cut, {}) == 0
    assert ledger.feed.prune_feed(cut, {ORG: 3}) == 2
    assert [row.sequence for row in ledger.feed.changes(ORG, 0, 10)] == [3, 4, 5, 6]
    assert ledger.feed.batch_at(ORG, 3) == batches[2]
    assert ledger.feed.batch_at(ORG, 2) is None
    assert ledger.feed.batch_at(ORG, 0) is None, "a follower at the start would miss what was pruned"
    assert ledger.feed.prune_feed(cut, {ORG: 100}) == 3


def test_the_head_is_known_even_when_everything_was_pruned(ledger: Ledger, clock: SteppingClock) -> None:
    create(ledger, draft("e1"), draft("e2"))
    head = ledger.feed.head(ORG)
    ledger.feed.prune_feed(clock() + timedelta(days=1), {ORG: 3})
    assert ledger.feed.changes(ORG, 0, 10) == []
    assert ledger.feed.batch_at(ORG, 2) == head.batch
    assert ledger.feed.head(ORG) == head
