import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from stores.errors import Conflict, ValidationFailed
from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, BOB, ORG, actions, at_once, create, deed, draft


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


def test_the_chain_holds_when_two_servers_write_and_in_a_restored_backup(
    ledger: Ledger, second: Ledger, populated_url: str, tmp_path: Path
) -> None:
    def write(number: int) -> None:
        server = (ledger, second)[number % 2]
        with server.transaction(ORG, ANN) as tx:
            tx.audit(deed(f"deed {number}"))
        server.audit.append(deed(f"look {number}"))

    at_once(write, 24)
    assert [server.audit.faults(ORG) for server in (ledger, second, ledger)] == [[], [], []]
    assert len(actions(ledger)) == 48
    if populated_url.startswith("sqlite"):
        copy = tmp_path / "restored.sqlite"
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as live, closing(sqlite3.connect(copy)) as backup:
            live.backup(backup)
        with closing(Ledger.open(f"sqlite:///{copy}")) as restored:
            assert restored.audit.faults(ORG) == []
            restored.audit.append(deed("look again"))
            assert (restored.audit.faults(ORG), len(actions(restored))) == ([], 49)
