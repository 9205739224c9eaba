from datetime import timedelta

import pytest

from stores.ledger import Ledger
from stores.ledger.links import Link
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, create, draft, relate

EVERYBODY = frozenset({ORGANIZATION})
MINE = "private:user-ann"


@pytest.fixture(autouse=True)
def _entities(ledger: Ledger) -> None:
    create(ledger, draft("a"), draft("b"), draft("c"), draft("mine", visibility=MINE))


def around(ledger: Ledger, *ids: str, keys: frozenset[str] = EVERYBODY, limit: int = 9) -> dict[str, list[Link]]:
    return ledger.relations.links_around(ORG, ids, visibility=keys, limit=limit)


def test_only_what_holds_now_is_shown_and_no_more_than_asked_of_each_direction(
    ledger: Ledger, clock: SteppingClock
) -> None:
    relate(ledger, "ABOUT", "a", "b", valid_at=clock.now + timedelta(days=9))
    ended = relate(ledger, "ABOUT", "a", "c")
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(ended.id)
    assert around(ledger, "a") == {}
    for number in range(5):
        create(ledger, draft(f"n{number}"))
        relate(ledger, "TOUCHES", "a", f"n{number}")
        relate(ledger, "REQUIRES", f"n{number}", "a")
    found = around(ledger, "a", limit=2)["a"]
    assert [link.id for link in found] == ["n4", "n4", "n3", "n3"]
