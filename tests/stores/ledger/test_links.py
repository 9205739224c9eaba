from datetime import timedelta

import pytest

from stores.ledger import ABOUT, BESIDE, Ledger
from stores.ledger.links import Link
from stores.records import ORGANIZATION
from tests.stores.ledger.samples import ANN, ORG, OTHER, SteppingClock, create, draft, relate

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


def test_the_ends_of_relations_are_told_from_the_rest(ledger: Ledger) -> None:
    relate(ledger, "ABOUT", "a", "b")
    assert ledger.relations.linked(ORG, ["a", "b", "c", "absent"]) == {"a", "b"}
    assert ledger.relations.linked(OTHER, ["a"]) == set()
    assert ledger.relations.linked(ORG, []) == set()


def say(ledger: Ledger, note: str, subject: str, *, name: str = ABOUT, visibility: str = ORGANIZATION) -> str:
    return relate(ledger, name, note, subject, visibility=visibility, provenance=BESIDE).id


def notes(ledger: Ledger, subject: str, visibility: frozenset[str] = EVERYBODY, limit: int = 50) -> list[str]:
    return [note.id for note in ledger.records.notes_about(ORG, subject, visibility=visibility, limit=limit)]


def test_notes_about_a_record_are_read_newest_first_by_whoever_may(ledger: Ledger) -> None:
    create(ledger, draft("t", entity_type="task"), draft("u", entity_type="task"))
    for name in ("n1", "n2", "n3"):
        create(ledger, draft(name, entity_type="note"))
        say(ledger, name, "t")
    say(ledger, "n1", "t", visibility="private:ann")
    create(ledger, draft("hidden", entity_type="note", visibility="private:ann"), draft("guide", entity_type="guide"))
    say(ledger, "hidden", "t", visibility="private:ann")
    say(ledger, "guide", "t")
    say(ledger, "n1", "u", name="RELATED_TO")
    relate(ledger, ABOUT, "n2", "u", provenance={"from": "related_to"})
    assert notes(ledger, "t") == ["n3", "n2", "n1"]
    assert notes(ledger, "t", limit=2) == ["n3", "n2"]
    assert notes(ledger, "t", EVERYBODY | {"private:ann"}) == ["hidden", "n3", "n2", "n1"]
    assert notes(ledger, "u") == []
    with ledger.transaction(ORG, ANN) as tx:
        assert [note.id for note in tx.records.notes_about("t")] == ["hidden", "n3", "n2", "n1"]
    assert ledger.records.notes_about(OTHER, "t", visibility=EVERYBODY, limit=5) == []


def test_what_is_not_about_it_any_more_is_no_note_of_it(ledger: Ledger) -> None:
    create(ledger, draft("t", entity_type="task"), draft("n", entity_type="note"))
    relation = say(ledger, "n", "t")
    with ledger.transaction(ORG, ANN) as tx:
        tx.relations.end_relation(relation)
        assert tx.records.notes_about("t") == []
    assert notes(ledger, "t") == []
