from dataclasses import replace
from datetime import timedelta

import pytest

from stores.errors import Conflict, NotFound
from stores.ledger import Ledger
from stores.records import ApiKey
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, actions, deed

MINUTE = timedelta(minutes=1)


@pytest.fixture
def key(ledger: Ledger, clock: SteppingClock) -> ApiKey:
    made = ApiKey(
        "k1", ORG, ANN, "Continuous integration", "sk_live_abcdefgh", ("mcp", "api:read"), ("p1", "p2"), ("space-1",),
        True, clock.now, expires_at=clock.now + timedelta(days=1),
    )  # fmt: skip
    ledger.api_keys.create(made, "secret-hash", deed("api_key.create"))
    return made


def test_a_key_is_found_by_its_prefix_with_whose_it_is_and_the_hash_to_compare(ledger: Ledger, key: ApiKey) -> None:
    found = ledger.api_keys.find(key.prefix)
    assert found.key == key == ledger.api_keys.key(ORG, "k1")
    assert found.key_hash == "secret-hash"
    assert found.identity == ledger.people.identity(ANN, ORG, None)
    assert "secret-hash" not in repr(found)
    assert ledger.api_keys.find("sk_live_other") is None
    assert ledger.api_keys.key(OTHER, "k1") is None


def test_the_role_of_a_key_is_that_of_its_user_at_the_moment(ledger: Ledger, clock: SteppingClock, key: ApiKey) -> None:
    ledger.people.add_membership(BOB, ORG, "admin")
    ledger.api_keys.create(replace(key, id="k2", user_id=BOB, prefix="sk_live_bob"), "hash")
    ledger.people.set_member_role(ORG, BOB, "viewer")
    found = ledger.api_keys.find("sk_live_bob")
    assert found.identity.role == "viewer"


def test_a_taken_prefix_or_an_unknown_user_makes_no_key(ledger: Ledger, key: ApiKey) -> None:
    with pytest.raises(Conflict, match="prefix"):
        ledger.api_keys.create(replace(key, id="k2"), "hash", deed("api_key.create"))
    with pytest.raises(NotFound):
        ledger.api_keys.create(replace(key, id="k2", prefix="sk_2", user_id="nobody"), "hash")
    assert actions(ledger) == ["api_key.create"]


def test_a_use_is_noted_without_writing_and_written_once_a_minute(
    ledger: Ledger, second: Ledger, key: ApiKey, clock: SteppingClock
) -> None:
    def used_at(seen_by: Ledger) -> object:
        found = seen_by.api_keys.key(ORG, "k1")
        return found.last_used_at

    with ledger.transaction(ORG, ANN):
        ledger.api_keys.note_use("k1")
    first = clock.now
    assert (used_at(ledger), used_at(second)) == (first, None)
    assert ledger.api_keys.write_uses() == 1
    assert used_at(second) == first
    ledger.api_keys.note_use("k1")
    assert ledger.api_keys.write_uses() == 0
    clock.now = first + MINUTE
    ledger.api_keys.note_use("k1")
    ledger.api_keys.note_use("gone")
    assert ledger.api_keys.write_uses() == 2
    assert used_at(second) == clock.now - timedelta(seconds=1)


def test_a_use_is_written_when_the_ledger_is_closed(ledger: Ledger, second: Ledger, key: ApiKey) -> None:
    second.api_keys.note_use("k1")
    second.close()
    found = ledger.api_keys.key(ORG, "k1")
    assert found.last_used_at is not None
