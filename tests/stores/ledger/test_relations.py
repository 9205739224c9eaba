from dataclasses import replace
from datetime import timedelta

import pytest

from stores.ledger import Ledger, RelationDraft
from stores.records import ORGANIZATION, Relation
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, draft

EVERYBODY = frozenset({ORGANIZATION})
LINK = RelationDraft(name="RELATED_TO", source_id="a", target_id="b", fact="a goes with b", id="r1")


@pytest.fixture(autouse=True)
def _entities(ledger: Ledger) -> None:
    create(ledger, draft("a"), draft("b"), draft("c"))


STATED = {"from": "related_to"}


def add(ledger: Ledger, wanted: RelationDraft) -> Relation:
    with ledger.transaction(ORG, ANN) as tx:
        return tx.relations.add_relation(wanted)


def test_a_relation_reads_back_to_the_letter(ledger: Ledger, clock: SteppingClock) -> None:
    moment = clock.now - timedelta(days=400, microseconds=7)
    wanted = replace(
        LINK,
        fact="naïve 😀\n",
        valid_at=moment,
        invalid_at=moment + timedelta(days=1),
        provenance={"z": [1], "a": None},
    )
    added = add(ledger, wanted)
    assert ledger.relations.by_ids(ORG, ["r1", "absent"]) == {"r1": added}
    assert (added.fact, added.valid_at, added.provenance) == (wanted.fact, moment, wanted.provenance)
    assert added.created_at == clock.now
    assert added.expired_at is None
    assert added.principal_id == ANN
    assert ledger.relations.relation_ids(ORG) == {"r1"}
    assert ledger.relations.relation_ids(OTHER) == set()


def move(ledger: Ledger, entity_id: str, visibility: str, *, left: tuple[str, ...] = ()) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        before = tx.records.entity(entity_id)
        assert before is not None
        after = tx.records.update_entity(entity_id, lambda entity: replace(entity, visibility=visibility))
        tx.relations.follow_visibility(before, after, left=left)


def shown(ledger: Ledger) -> dict[str, str]:
    found = ledger.relations.by_ids(ORG, ledger.relations.relation_ids(ORG))
    return {each.id: each.visibility for each in found.values()}


def test_what_a_record_states_follows_who_may_read_its_ends(ledger: Ledger) -> None:
    add(ledger, replace(LINK, provenance=STATED))
    add(ledger, replace(LINK, id="r2", name="ABOUT", provenance=STATED))
    add(ledger, replace(LINK, id="own", name="OWNS", visibility="private:x"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation("r2")
    before = ledger.relations.by_ids(ORG, ["r1", "r2"])
    steps = [
        ("a", "private:x", "private:x"), ("b", "project:p", "private:x"), ("a", "organization", "project:p"),
        ("b", "private:y", "private:y"), ("b", "organization", "organization"),
    ]  # fmt: skip
    for entity_id, visibility, expected in steps:
        head = ledger.feed.head(ORG).sequence
        move(ledger, entity_id, visibility)
        assert shown(ledger) == {"r1": expected, "r2": expected, "own": "private:x"}
        told = [change for change in ledger.feed.changes(ORG, head, 10) if change.kind == "relation"]
        changed = {each.record_id for each in told}
        assert changed == (set() if (entity_id, visibility) == ("b", "project:p") else {"r1", "r2"})
        assert {(each.operation, each.visibility) for each in told} <= {("update", expected)}
    assert ledger.relations.by_ids(ORG, ["r1", "r2"]) == before


def test_a_relation_that_was_left_does_not_follow_its_target_later(ledger: Ledger) -> None:
    move(ledger, "a", "private:x")
    add(ledger, replace(LINK, visibility="private:x", provenance=STATED))
    move(ledger, "b", "private:y")
    move(ledger, "a", "organization", left=("r1",))
    move(ledger, "b", "organization")
    assert shown(ledger) == {"r1": "private:x"}
    move(ledger, "a", "private:x")
    move(ledger, "a", "organization")
    assert shown(ledger) == {"r1": "organization"}
