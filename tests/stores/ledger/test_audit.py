from contextlib import nullcontext

import pytest

from stores.errors import Conflict, ValidationFailed
from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, BOB, ORG, actions, create, deed, draft


def test_an_entry_is_written_with_the_deed_or_not_at_all(ledger: Ledger) -> None:
    create(ledger, draft("e1"))
    for entity_id, is_taken in (("e1", True), ("e2", False)):
        with pytest.raises(Conflict) if is_taken else nullcontext(), ledger.transaction(ORG, ANN) as tx:
            tx.audit(deed(f"create {entity_id}"))
            tx.records.create_entity(draft(entity_id))
    assert actions(ledger) == ["create e2"]


def test_a_deed_whose_entry_cannot_be_stored_is_not_done(ledger: Ledger) -> None:
    create(ledger, draft("e1"))
    with pytest.raises(ValidationFailed):
        ledger.people.add_membership(BOB, ORG, "member", audit=deed("member.add", details={"note": "a\0b"}))
    with pytest.raises(ValidationFailed):
        ledger.people.add_membership(BOB, ORG, "member", audit=deed("member.add", resource="x" * 500))
    assert ledger.people.member(ORG, BOB) is None
    assert actions(ledger) == []
