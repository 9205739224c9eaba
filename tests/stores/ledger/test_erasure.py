import pytest

from stores.errors import Conflict
from stores.ledger import Claim, KeyedRequest, Ledger
from tests.stores.ledger.samples import ANN, ORG, create, delete, draft, relate

SECRET = "xyzzy-7f3a-plugh"


REQUEST = KeyedRequest(ORG, ANN, "POST", "/api/entities", "key", "hash")


@pytest.mark.parametrize("answered", ["before", "after"])
def test_a_stored_answer_does_not_outlive_the_record_that_it_repeats(ledger: Ledger, answered: str) -> None:
    claim = ledger.idempotency.claim(REQUEST, "process-1")
    assert isinstance(claim, Claim)
    with ledger.transaction(ORG, ANN, claim) as tx:
        tx.records.create_entity(draft("e1"))
    if answered == "after":
        delete(ledger, "e1")
    ledger.idempotency.finish(claim, 201, {"content": SECRET})
    if answered == "before":
        delete(ledger, "e1")
    with pytest.raises(Conflict, match=r"carried out.*was deleted or may not be read.*about: entity:e1") as refused:
        ledger.idempotency.claim(REQUEST, "process-1")
    assert SECRET not in str(refused.value)


def test_a_lost_answer_names_no_relation_that_was_erased_with_a_record(ledger: Ledger) -> None:
    create(ledger, draft("e1"), draft("e2", visibility="private:x"))
    relate(ledger, "ABOUT", "e2", "e1", visibility="private:x", id="r1")
    request = KeyedRequest(ORG, ANN, "DELETE", "/api/entities/e1", "key", "hash")
    claim = ledger.idempotency.claim(request, "process-1")
    assert isinstance(claim, Claim)
    with ledger.transaction(ORG, ANN, claim) as tx:
        tx.records.delete_entity("e1")
    ledger.idempotency.release(claim)
    with pytest.raises(Conflict) as refused:
        ledger.idempotency.claim(request, "process-1")
    assert refused.value.details == {"records": ["entity:e1"]}
