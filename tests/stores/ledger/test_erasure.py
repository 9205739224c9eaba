from dataclasses import replace
from pathlib import Path

import pytest

from stores.errors import Conflict
from stores.ledger import Claim, KeyedRequest, Ledger
from tests.stores.ledger.samples import (
    ANN,
    EVERYTHING,
    ORG,
    create,
    delete,
    draft,
    organization,
    person,
    relate,
    relations_of,
    rename,
)

SECRET = "xyzzy-7f3a-plugh"


def test_a_deleted_entity_is_gone_now_and_in_the_past(ledger: Ledger) -> None:
    [first] = create(ledger, draft("e1", name="one", tags=("t",)), draft("e2"))[:1]
    second = rename(ledger, "e1", "two")
    relate(ledger, "ABOUT", "e2", "e1")
    relate(ledger, "ABOUT", "e1", "e1")
    with ledger.transaction(ORG, ANN) as tx:
        assert tx.records.delete_entity("e1", expected_revision=2) == second
        assert tx.records.entity("e1") is None

    assert ledger.records.entity(ORG, "e1") is None
    assert ledger.records.entity_at(ORG, "e1", first.created_at) is None
    assert relations_of(ledger, ORG, "e2", history=True) == []
    assert ledger.records.list_entities(ORG, replace(EVERYTHING, tags=("t",))) == ([], 0)
    create(ledger, draft("e1", name="again"))
    assert ledger.records.revisions(ORG) == {"e1": 1, "e2": 1}


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


def test_deleted_text_is_in_no_file_after_a_checkpoint(tmp_path: Path) -> None:
    ledger = Ledger.open(f"sqlite:///{tmp_path / 'ledger.sqlite'}")
    ledger.people.create_account(person(ANN), organization(ORG))
    create(ledger, draft("e1", name=SECRET, description=SECRET, content=SECRET * 3_000, metadata={"k": SECRET}))
    create(ledger, draft("e2"))
    rename(ledger, "e1", f"{SECRET} again")
    relate(ledger, "ABOUT", "e1", "e2", fact=SECRET)
    ledger.checkpoint()
    assert any(SECRET.encode() in file.read_bytes() for file in tmp_path.iterdir())

    delete(ledger, "e1")
    ledger.checkpoint()

    assert [file.name for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()] == []
    ledger.close()


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
