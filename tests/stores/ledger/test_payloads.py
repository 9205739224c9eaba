"""Payloads are read by place, replaced whole, and erased with their raw memory."""

from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, ORG, create, delete, draft


def test_texts_are_kept_by_place_until_their_memory_is_erased(ledger: Ledger) -> None:
    create(ledger, draft("a"), draft("b"))
    long = "naïve \U0001f9ed" * 100_000
    with ledger.transaction(ORG, ANN) as tx:
        tx.payloads.replace_texts("a", iter(["0", "1", long]))
        tx.payloads.replace_texts("b", ["b"])
    with ledger.transaction(ORG, ANN) as tx:
        tx.payloads.replace_text("a", 0, "zero")
        assert (tx.payloads.text("a", 0), tx.payloads.text("a", 3)) == ("zero", None)
    assert [ledger.payloads.text(ORG, "a", place) for place in range(4)] == ["zero", "1", long, None]
    with ledger.transaction(ORG, ANN) as tx:
        tx.payloads.replace_texts("a", ["new"])
    assert [ledger.payloads.text(ORG, "a", place) for place in range(2)] == ["new", None]
    delete(ledger, "a")
    assert (ledger.payloads.text(ORG, "a", 0), ledger.payloads.text(ORG, "b", 0)) == (None, "b")
