from datetime import timedelta

from stores.ledger import Ledger
from stores.ledger.links import DirectedLink
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, ORG, SteppingClock, create, draft, relate


def test_only_what_holds_now_is_shown_and_no_more_than_asked_of_each_direction(
    ledger: Ledger, clock: SteppingClock
) -> None:
    def around(limit: int) -> dict[str, list[DirectedLink]]:
        return ledger.relations.links_around(ORG, ["a"], visibility=frozenset({ORGANIZATION}), limit=limit)

    create(ledger, *map(draft, ("a", "b", "c")))
    relate(ledger, "ABOUT", "a", "b", valid_at=clock.now + timedelta(days=9))
    ended = relate(ledger, "ABOUT", "a", "c")
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(ended.id)
    assert around(9) == {}
    for number in range(5):
        create(ledger, draft(f"n{number}"))
        relate(ledger, "TOUCHES", "a", f"n{number}")
        relate(ledger, "REQUIRES", f"n{number}", "a")
    assert [link.id for link in around(2)["a"]] == ["n4", "n4", "n3", "n3"]
