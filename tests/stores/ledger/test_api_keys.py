from datetime import timedelta

import pytest

from stores.ledger import Ledger
from stores.records import ApiKey
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, deed


@pytest.fixture
def key(ledger: Ledger, clock: SteppingClock) -> ApiKey:
    made = ApiKey(
        "k1", ORG, ANN, "Continuous integration", "sk_live_abcdefgh", ("mcp", "api:read"), ("p1", "p2"), ("space-1",),
        True, clock.now, expires_at=clock.now + timedelta(days=1),
    )  # fmt: skip
    ledger.api_keys.create(made, "secret-hash", deed("api_key.create"))
    return made


def test_a_use_is_noted_without_writing_and_written_when_it_is_asked_for(
    ledger: Ledger, second: Ledger, key: ApiKey, clock: SteppingClock
) -> None:
    def used_at(seen_by: Ledger) -> object:
        (found,) = seen_by.api_keys.of_organization(ORG)
        return found.last_used_at

    with ledger.transaction(ORG, ANN):
        ledger.api_keys.note_use("k1")
    first = clock.now
    assert used_at(second) is None
    assert used_at(ledger) == used_at(second) == first
    assert ledger.api_keys.write_uses() == 0
    ledger.api_keys.note_use("k1")
    ledger.api_keys.note_use("gone")
    assert ledger.api_keys.write_uses() == 2
    assert used_at(second) == clock.now - timedelta(seconds=1)


def test_a_use_is_written_when_the_ledger_is_closed(ledger: Ledger, second: Ledger, key: ApiKey) -> None:
    second.api_keys.note_use("k1")
    second.close()
    found = ledger.api_keys.key(ORG, "k1")
    assert found.last_used_at is not None
