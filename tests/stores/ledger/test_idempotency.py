from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict
from stores.ledger import Claim, KeyedRequest, Ledger, Replay
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, draft, winners

REQUEST = KeyedRequest(ORG, ANN, "POST", "/api/entities", "key-1", "sha256:1")
HOLDER = "process-1"


def claimed(ledger: Ledger, request: KeyedRequest = REQUEST) -> Claim:
    claim = ledger.idempotency.claim(request, HOLDER)
    assert isinstance(claim, Claim)
    return claim


def carry_out(ledger: Ledger, claim: Claim, entity_id: str = "e1") -> None:
    with ledger.transaction(ORG, ANN, claim) as tx:
        tx.records.create_entity(draft(entity_id))


@pytest.mark.parametrize(
    "change",
    [{"organization_id": OTHER}, {"principal": "x"}, {"method": "PATCH"}, {"path": "/x"}, {"key": "key-2"}],
    ids=["organization", "principal", "method", "path", "key"],
)
def test_a_key_belongs_to_one_caller_and_one_operation(ledger: Ledger, change: dict[str, str]) -> None:
    claimed(ledger)
    claimed(ledger, replace(REQUEST, **change))


def test_of_many_equal_requests_at_once_one_gets_the_claim(ledger: Ledger) -> None:
    def attempt(_: int) -> None:
        ledger.idempotency.claim(REQUEST, HOLDER)

    assert winners(attempt, Conflict, 12) == 1


def test_a_request_whose_answer_was_lost_names_what_it_wrote(ledger: Ledger) -> None:
    claim = claimed(ledger)
    with ledger.transaction(ORG, ANN, claim) as tx:
        tx.records.create_entity(draft("e1"))
        tx.records.create_entity(draft("e2"))
        tx.records.update_entity("e1", lambda entity: replace(entity, name="x"))
    ledger.idempotency.release_dead_claims(HOLDER)
    with pytest.raises(Conflict, match=r"answer is gone.*entity:e1, entity:e2"):
        ledger.idempotency.claim(REQUEST, HOLDER)


def test_a_request_that_waits_after_its_commit_is_still_running(ledger: Ledger) -> None:
    claim = claimed(ledger)
    carry_out(ledger, claim)
    ledger.idempotency.release_dead_claims("process-2")
    with pytest.raises(Conflict, match=r"still running.*entity:e1") as refused:
        ledger.idempotency.claim(REQUEST, "process-2")
    assert "gone" not in refused.value.message
    ledger.idempotency.finish(claim, 201, {})
    assert ledger.idempotency.claim(REQUEST, HOLDER) == Replay(201, {}, ("entity:e1",))


def test_a_claim_that_was_released_may_be_taken_again(ledger: Ledger) -> None:
    ledger.idempotency.release(claimed(ledger))
    second = claimed(ledger)
    carry_out(ledger, second)
    ledger.idempotency.release(second)
    with pytest.raises(Conflict, match="carried out, but its answer is gone"):
        ledger.idempotency.claim(REQUEST, HOLDER)


def test_a_claim_that_does_not_hold_any_more_commits_nothing(ledger: Ledger) -> None:
    claim = claimed(ledger)
    ledger.idempotency.release(claim)
    with pytest.raises(Conflict, match="lost its Idempotency-Key"):
        carry_out(ledger, claim)
    second = claimed(ledger)
    carry_out(ledger, second, "e2")
    with pytest.raises(Conflict, match="lost its Idempotency-Key"):
        carry_out(ledger, second, "e3")
    assert set(ledger.records.revisions(ORG)) == {"e2"}


def test_a_failed_transaction_leaves_its_claim_to_be_released(ledger: Ledger) -> None:
    create(ledger, draft("e1"))
    claim = claimed(ledger)
    with pytest.raises(Conflict, match="exists already"):
        carry_out(ledger, claim)
    ledger.idempotency.release(claim)
    carry_out(ledger, claimed(ledger), "e2")


def test_a_key_is_free_again_after_a_day(ledger: Ledger, clock: SteppingClock) -> None:
    first = claimed(ledger)
    carry_out(ledger, first)
    ledger.idempotency.finish(first, 200, {})
    clock.now += timedelta(hours=24)
    second = claimed(ledger)
    assert second != first
    with pytest.raises(Conflict, match="still running"):
        ledger.idempotency.claim(REQUEST, HOLDER)
    ledger.idempotency.finish(first, 500, {"late": True})
    carry_out(ledger, second, "e2")
    with pytest.raises(Conflict, match="entity:e2"):
        ledger.idempotency.claim(REQUEST, HOLDER)


def test_expired_keys_are_pruned_with_the_names_of_what_they_wrote(ledger: Ledger, clock: SteppingClock) -> None:
    carry_out(ledger, claimed(ledger))
    assert ledger.people.prune_expired() == 0
    clock.now += timedelta(hours=24)
    assert ledger.people.prune_expired() == 1
    claimed(ledger)


def test_claims_of_a_dead_process_are_dropped_unless_they_were_carried_out(ledger: Ledger) -> None:
    claimed(ledger, replace(REQUEST, key="running"))
    carry_out(ledger, claimed(ledger, replace(REQUEST, key="applied")))
    assert ledger.idempotency.release_dead_claims("process-2") == 0
    assert ledger.idempotency.release_dead_claims(HOLDER) == 1
    claimed(ledger, replace(REQUEST, key="running"))
    with pytest.raises(Conflict, match="carried out, but its answer is gone"):
        ledger.idempotency.claim(replace(REQUEST, key="applied"), HOLDER)
