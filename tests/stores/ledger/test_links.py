from datetime import timedelta

import pytest

from stores.ledger import Ledger, RelationDraft
from stores.ledger.links import Link
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, draft

EVERYBODY = frozenset({ORGANIZATION})
MINE = "private:user-ann"


@pytest.fixture(autouse=True)
def _entities(ledger: Ledger) -> None:
    create(ledger, draft("a"), draft("b"), draft("c"), draft("mine", visibility=MINE))


def relate(ledger: Ledger, source_id: str, name: str, target_id: str, **fields: object) -> str:
    with ledger.transaction(ORG, ANN) as tx:
        return tx.relations.add_relation(
            RelationDraft(name=name, source_id=source_id, target_id=target_id, **fields)  # type: ignore[arg-type]
        ).id


def around(ledger: Ledger, *ids: str, keys: frozenset[str] = EVERYBODY, limit: int = 9) -> dict[str, list[Link]]:
    return ledger.relations.links_around(ORG, ids, visibility=keys, limit=limit)


def test_each_record_has_its_links_of_both_directions_the_latest_first(ledger: Ledger) -> None:
    relate(ledger, "a", "ABOUT", "b")
    relate(ledger, "c", "REQUIRES", "a")
    assert around(ledger, "a", "b", "absent") == {
        "a": [Link("c", "REQUIRES", "incoming"), Link("b", "ABOUT", "outgoing")],
        "b": [Link("a", "ABOUT", "incoming")],
    }
    assert around(ledger) == {}
    assert ledger.relations.links_around(OTHER, ["a"], visibility=EVERYBODY, limit=9) == {}


def test_what_is_hidden_takes_no_place_and_a_record_is_not_around_itself(ledger: Ledger) -> None:
    relate(ledger, "a", "ABOUT", "b")
    relate(ledger, "a", "ABOUT", "mine", visibility=MINE)
    relate(ledger, "a", "REQUIRES", "b", visibility=MINE)
    relate(ledger, "a", "ABOUT", "a")
    assert around(ledger, "a", limit=1) == {"a": [Link("b", "ABOUT", "outgoing")]}
    assert {link.id for link in around(ledger, "a", keys=EVERYBODY | {MINE})["a"]} == {"b", "mine"}


def test_only_what_holds_now_is_shown_and_no_more_than_asked_of_each_direction(
    ledger: Ledger, clock: SteppingClock
) -> None:
    relate(ledger, "a", "ABOUT", "b", valid_at=clock.now + timedelta(days=9))
    ended = relate(ledger, "a", "ABOUT", "c")
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(ended)
    assert around(ledger, "a") == {}
    for number in range(5):
        create(ledger, draft(f"n{number}"))
        relate(ledger, "a", "TOUCHES", f"n{number}")
        relate(ledger, f"n{number}", "REQUIRES", "a")
    found = around(ledger, "a", limit=2)["a"]
    assert [link.id for link in found] == ["n4", "n4", "n3", "n3"]


def test_the_ends_of_relations_are_told_from_the_rest(ledger: Ledger) -> None:
    relate(ledger, "a", "ABOUT", "b")
    assert ledger.relations.linked(ORG, ["a", "b", "c", "absent"]) == {"a", "b"}
    assert ledger.relations.linked(OTHER, ["a"]) == set()
    assert ledger.relations.linked(ORG, []) == set()
