from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict, ValidationFailed
from stores.ledger import AuditQuery, Ledger
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, actions, create, deed, draft


def test_an_entry_reads_back_as_it_was_written(ledger: Ledger, clock: SteppingClock) -> None:
    written = deed(
        "project.create", resource="p1", details={"name": "Ä", "n": None}, request={"id": "req_1", "ip": "::1"}
    )
    ledger.audit.append(written)
    (entry,) = ledger.audit.entries(AuditQuery(ORG))
    assert (entry.draft, entry.created_at) == (written, clock.now)


def test_entries_are_listed_newest_first_in_pages_that_do_not_overlap(ledger: Ledger) -> None:
    names = [f"a.{number:02}" for number in range(25)]
    for name in names:
        ledger.audit.append(deed(name))
    pages = [ledger.audit.entries(AuditQuery(ORG, limit=10, offset=start)) for start in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert [entry.draft.action for page in pages for entry in page] == names[::-1]


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


def create_with_entry(ledger: Ledger) -> None:
    with ledger.transaction(ORG, ANN) as tx:
        tx.audit(deed("project.create"))
        tx.records.create_entity(draft("e1"))


def test_an_entry_is_written_with_the_deed_or_not_at_all(ledger: Ledger) -> None:
    create_with_entry(ledger)
    with pytest.raises(Conflict):
        create_with_entry(ledger)
    assert actions(ledger) == ["project.create"]


def test_a_deed_whose_entry_cannot_be_stored_is_not_done(ledger: Ledger) -> None:
    create(ledger, draft("e1"))
    with pytest.raises(ValidationFailed):
        ledger.people.add_membership(BOB, ORG, "member", deed("member.add", details={"note": "a\0b"}))
    with pytest.raises(ValidationFailed):
        ledger.people.add_membership(BOB, ORG, "member", deed("member.add", resource="x" * 500))
    assert ledger.people.member(ORG, BOB) is None
    assert actions(ledger) == []
