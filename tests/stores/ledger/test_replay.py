"""The feed tells everything: a copy that follows it equals the ledger, wherever it began and whatever happened."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores.errors import EngrainError
from stores.ledger import Ledger, RelationDraft, Transaction
from stores.records import Entity, Relation
from tests.stores.ledger.samples import ANN, ORG, draft

IDS = st.sampled_from(["a", "b", "c", "d"])
Step = Callable[[Transaction], object]


def create(entity_id: str) -> Step:
    return lambda tx: tx.records.create_entity(draft(entity_id))


def update(entity_id: str) -> Step:
    return lambda tx: tx.records.update_entity(entity_id, lambda entity: replace(entity, content=entity.content + "."))


def delete(entity_id: str) -> Step:
    return lambda tx: tx.records.delete_entity(entity_id)


def relate(source: str, target: str) -> Step:
    return lambda tx: tx.relations.add_relation(
        RelationDraft(name="ABOUT", source_id=source, target_id=target, id=f"{source}{target}{tx.sequence}")
    )


def end(entity_id: str) -> Step:
    return lambda tx: [tx.relations.end_relation(relation.id) for relation in tx.relations.relations_of(entity_id)]


STEPS = st.one_of(
    st.builds(create, IDS),
    st.builds(update, IDS),
    st.builds(delete, IDS),
    st.builds(relate, IDS, IDS),
    st.builds(end, IDS),
)


class Copy:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        with ledger.feed.snapshot(ORG) as snapshot:
            self._at = snapshot.position.sequence
            self.entities: dict[str, Entity] = {e.id: e for page in snapshot.entities() for e in page}
            self.relations: dict[str, Relation] = {r.id: r for page in snapshot.relations() for r in page}

    def follow(self) -> None:
        for change in self._ledger.feed.changes(ORG, self._at, 1_000):
            self._at = change.sequence
            if change.kind == "entity":
                self.entities.pop(change.record_id, None)
                self.entities |= self._ledger.records.entities(ORG, [change.record_id])
            else:
                self.relations.pop(change.record_id, None)
                self.relations |= self._ledger.relations.by_ids(ORG, [change.record_id])


@pytest.mark.parametrize("populated_url", ["sqlite"], indirect=True)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(transactions=st.lists(st.lists(STEPS, min_size=1, max_size=3), max_size=12), begin=st.integers(0, 12))
def test_a_copy_that_follows_the_feed_equals_the_ledger(
    ledger: Ledger, transactions: list[list[Step]], begin: int
) -> None:
    copy: Copy | None = None
    for number, steps in enumerate([*transactions, []]):
        if number == min(begin, len(transactions)):
            copy = Copy(ledger)
        try:
            with ledger.transaction(ORG, ANN) as tx:
                for step in steps:
                    step(tx)
        except EngrainError:
            pass  # refused as a whole: neither the rows nor the feed may show any of it
    copy.follow()
    truth = Copy(ledger)
    assert copy.entities == truth.entities == ledger.records.entities(ORG, ["a", "b", "c", "d"])
    assert copy.relations == truth.relations
    assert ledger.relations.relation_ids(ORG) == truth.relations.keys()
    assert {end for relation in truth.relations.values() for end in (relation.source_id, relation.target_id)} <= set(
        truth.entities
    )
