"""Citations: each counts once, is on disk when the transaction has ended, and goes with its record."""

import pytest

from stores.errors import NotFound, ValidationFailed
from stores.ledger import Cited, Citing, Ledger
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, BOB, ORG, create, delete, draft

OPEN = frozenset({ORGANIZATION})
EVERY = ("a", "b", "mine", "hers", "elsewhere", "nothing")


def cite(ledger: Ledger, *ids: str, session: str = "s1", by: str = ANN, visible: frozenset[str] = OPEN) -> Cited:
    with ledger.transaction(ORG, by) as tx:
        return tx.memories.cite(ids, Citing(visible, session, "search"))


def test_what_is_undone_counts_nothing(ledger: Ledger) -> None:
    create(ledger, draft("a"))

    def fail() -> None:
        with ledger.transaction(ORG, ANN) as tx:
            assert tx.memories.cite(["a"], Citing(OPEN, "s", "search")).counted
            tx.records.delete_entity("nothing")

    with pytest.raises(NotFound):
        fail()
    with pytest.raises(ValidationFailed):
        cite(ledger, "a", session="s\0")
    assert ledger.memories.citations(ORG, EVERY) == []


def test_citations_go_with_their_record_and_with_their_user(ledger: Ledger) -> None:
    create(ledger, draft("a"), draft("b"))
    for by in (ANN, BOB):
        cite(ledger, "a", "b", by=by)
    delete(ledger, "a")
    assert [each.record_id for each in ledger.memories.citations(ORG, EVERY)] == ["b", "b"]
    ledger.people.delete_user(BOB)
    assert [each.record_id for each in ledger.memories.citations(ORG, EVERY)] == ["b"]
