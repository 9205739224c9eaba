from datetime import timedelta

from stores.ledger import Ledger, RelationDraft, Standing
from stores.ledger.encoding import to_micros
from tests.stores.ledger.samples import ANN, ORG, OTHER, create, draft, rename


def test_a_standing_tells_who_may_read_a_record_and_whether_it_was_retired(ledger: Ledger) -> None:
    create(ledger, draft("old", entity_type="rule", visibility="private:x"), draft("new"))
    changed = rename(ledger, "new", "newer")
    with ledger.transaction(ORG, ANN) as tx:
        relation = tx.add_relation(RelationDraft(name="SUPERSEDES", source_id="new", target_id="old"))
    old = ledger.entity(ORG, "old")
    assert old is not None

    assert ledger.standings(ORG, ["old", "new", "absent"]) == {
        "old": Standing("old", "rule", "private:x", to_micros(old.updated_at), superseded=True),
        "new": Standing("new", "episode", "organization", to_micros(changed.updated_at), superseded=False),
    }
    before = ledger.standings(ORG, ["old"], as_of=relation.created_at - timedelta(microseconds=1))
    assert not before["old"].superseded
    assert ledger.standings(ORG, ["old"], as_of=old.created_at - timedelta(microseconds=1)) == {}
    assert ledger.standings(OTHER, ["old"]) == {}
    assert ledger.standings(ORG, []) == {}


def test_a_supersession_that_ended_retires_nothing(ledger: Ledger) -> None:
    create(ledger, draft("old"), draft("new"))
    with ledger.transaction(ORG, ANN) as tx:
        relation = tx.add_relation(RelationDraft(name="SUPERSEDES", source_id="new", target_id="old"))
    with ledger.transaction(ORG, ANN) as tx:
        tx.end_relation(relation.id)
    assert not ledger.standings(ORG, ["old"])["old"].superseded
    assert ledger.standings(ORG, ["old"], as_of=relation.created_at)["old"].superseded
