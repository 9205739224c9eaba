import pytest

from stores.errors import Conflict
from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, draft, winners


def test_a_lease_is_held_by_one_until_it_is_released(ledger: Ledger) -> None:
    lease = ledger.leases.acquire(ORG, "source:s1", "process-1")
    for holder in ("process-2", "process-1"):
        with pytest.raises(Conflict, match="source:s1"):
            ledger.leases.acquire(ORG, "source:s1", holder)
    ledger.leases.acquire(ORG, "source:s2", "process-2")
    ledger.leases.acquire(OTHER, "source:s1", "process-2")
    ledger.leases.release(lease)
    assert ledger.leases.acquire(ORG, "source:s1", "process-2").token == lease.token + 1


def test_an_expired_lease_may_be_taken_and_the_old_holder_is_fenced_off(ledger: Ledger, clock: SteppingClock) -> None:
    old = ledger.leases.acquire(ORG, "work", "process-1", ttl_s=10)
    clock.now = old.expires_at
    new = ledger.leases.acquire(ORG, "work", "process-2")
    assert new.token > old.token
    with ledger.transaction(ORG, ANN) as tx, pytest.raises(Conflict, match="lost"):
        tx.require_lease(old)
    ledger.leases.release(old)
    with ledger.transaction(ORG, ANN) as tx:
        tx.require_lease(new)
        tx.records.create_entity(draft("e1"))
    assert ledger.records.revisions(ORG) == {"e1": 1}


def test_the_leases_of_a_dead_process_are_given_back(ledger: Ledger) -> None:
    old = ledger.leases.acquire(ORG, "a", "process-1")
    ledger.leases.acquire(ORG, "b", "process-2")
    assert ledger.leases.release_holder("process-1") == 1
    assert ledger.leases.acquire(ORG, "a", "process-3").token > old.token
    with pytest.raises(Conflict):
        ledger.leases.acquire(ORG, "b", "process-3")


def test_of_many_that_want_a_lease_at_once_one_gets_it(ledger: Ledger) -> None:
    def attempt(number: int) -> None:
        ledger.leases.acquire(ORG, "work", f"process-{number}")

    assert winners(attempt, Conflict, 12) == 1
