from stores.ledger import Citing, Ledger
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, BOB, ORG, create, delete, draft


def test_citations_go_with_their_record_and_with_their_user(ledger: Ledger) -> None:
    create(ledger, draft("a"), draft("b"))
    for by in (ANN, BOB):
        with ledger.transaction(ORG, by) as tx:
            tx.memories.cite(["a", "b"], Citing(frozenset({ORGANIZATION}), "s1", "search"))
    delete(ledger, "a")
    assert [each.record_id for each in ledger.memories.citations(ORG, "ab")] == ["b", "b"]
    ledger.people.delete_user(BOB)
    assert [each.record_id for each in ledger.memories.citations(ORG, "ab")] == ["b"]
