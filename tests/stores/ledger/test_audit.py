from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict, ValidationFailed
from stores.ledger import AuditQuery, Ledger
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, actions, create, deed, draft


def test_entries_are_filtered(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.audit.append(deed("memory.remember", resource="m1"))
    second_at = clock.now + timedelta(seconds=1)
    ledger.audit.append(deed("memory.recall", actor_id=BOB))
    ledger.audit.append(deed("memoryless", actor_id=None))
    ledger.audit.append(deed("memory.remember", OTHER))
    ledger.audit.append(deed("server.start", None))

    def found(**changes: object) -> list[str]:
        query = replace(AuditQuery(ORG), **changes)  # type: ignore[arg-type]
        return [entry.draft.action for entry in ledger.audit.entries(query)]

    assert found() == ["memoryless", "memory.recall", "memory.remember"]
    assert found(action="memory.") == ["memory.recall", "memory.remember"]
    assert found(action="memory.recall") == ["memory.recall"]
    assert found(action="memory") == []
    assert found(actor_id=BOB) == ["memory.recall"]
    assert found(resource="m1", actor_id=ANN) == ["memory.remember"]
    assert found(since=second_at) == ["memoryless", "memory.recall"]
    assert found(until=second_at) == ["memory.remember"]
    assert actions(ledger, OTHER) == ["memory.remember"]
    assert actions(ledger, None) == ["server.start"]


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
        ledger.people.add_membership(BOB, ORG, "member", deed("member.add", details={"note": "a\0b"}))
    with pytest.raises(ValidationFailed):
        ledger.people.add_membership(BOB, ORG, "member", deed("member.add", resource="x" * 500))
    assert ledger.people.member(ORG, BOB) is None
    assert actions(ledger) == []
